# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks through the vdso: signals that come while a program asks for the time. By libdw, and by libunwind.
. "${0%/*}/lib.bash"
have gcc

cat > clock.c <<'C'
#include <signal.h>
#include <time.h>
static volatile sig_atomic_t n_signals;
static volatile long sink;
__attribute__((noinline)) void leaf(int n) { sink += n; }
static void on_timer(int sig) { leaf(sig); n_signals++; }
__attribute__((noinline)) int ask(void)
{
	struct timespec ts;
	int rc = clock_gettime(CLOCK_MONOTONIC, &ts);

	sink += ts.tv_nsec;
	return rc;
}
int main(void)
{
	struct itimerspec every = { { 0, 300000 }, { 0, 300000 } };
	struct sigaction sa = { .sa_handler = on_timer };
	timer_t timer;

	if (sigaction(SIGALRM, &sa, NULL) < 0 || timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0 ||
	    timer_settime(timer, 0, &every, NULL) < 0)
		return 1;
	while (n_signals < 300)
		if (ask() < 0)
			return 1;
	return 0;
}
C
gcc -O2 -fomit-frame-pointer -o clock clock.c || fail "clock.c"
for KIND in cfi unwind; do
"$UPROBE" --stack=$KIND --lossless -o out.txt -e "p:g/x ./clock:leaf" -- ./clock 2> err.txt || fail "ended with $?: $(cat err.txt)"
n=$(count ': x: ')
[ "$n" -ge 300 ] || fail "$n signals"
in_vdso=$(grep -c '(\[vdso\])' out.txt)
[ "$in_vdso" -gt 0 ] || skip "no signal came in the vdso: the kernel is asked for the time here"
# Whoever is in the vdso was called by libc, that by us.
awk '
	/<user stack trace>/ { if (vdso && !(asks && begins)) bad++; vdso = asks = begins = 0 }
	/\(\[vdso\]\)/ { vdso = 1 }
	vdso && /^ => ask\+/ { asks = 1 }
	vdso && /^ => main\+/ { begins = 1 }
	END { if (vdso && !(asks && begins)) bad++; exit bad > 0 }' out.txt ||
	fail "stacks end in the vdso: $(grep -A3 '(\[vdso\])' out.txt | head -n 20)"
grep -q '^ => clock_gettime+0x.* (\[vdso\])$\|^ => __vdso_clock_gettime+0x.* (\[vdso\])$' out.txt ||
	fail "its functions have no names: $(grep '(\[vdso\])' out.txt | sort | uniq -c | head -n 5)"
done
