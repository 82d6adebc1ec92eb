// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads, garbage, exceptions (implicit null checks are signals) and a child process. */
public class Work {
	static String unit(int n) throws Exception {
		MessageDigest d = MessageDigest.getInstance("SHA-256");
		int caught = 0;
		for (int i = 0; i < 2000; i++) {
			String s = i % 7 == 0 ? null : "v" + (long) i * n;
			try {
				d.update(s.getBytes());
			} catch (NullPointerException e) {
				caught++;
			}
		}
		StringBuilder b = new StringBuilder();
		for (byte x : d.digest())
			b.append(String.format("%02x", x));
		return b.toString() + caught;
	}

	static String check(ExecutorService pool) throws Exception {
		List<Future<String>> parts = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			int n = i;
			parts.add(pool.submit(() -> unit(n)));
		}
		StringBuilder all = new StringBuilder();
		for (Future<String> f : parts)
			all.append(f.get());
		Process p = new ProcessBuilder("sh", "-c", "echo sub; exit 4").start();
		all.append(new String(p.getInputStream().readAllBytes()).trim()).append(p.waitFor());
		return Integer.toHexString(all.toString().hashCode());
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(3);
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready");
		String line;
		while ((line = in.readLine()) != null && !line.equals("end"))
			System.out.println("ok " + check(pool));
		pool.shutdown();
		System.exit(0);
	}
}
