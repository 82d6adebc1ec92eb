/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of functions counted on libubp alone, with a function object for each probe: ./example PID MOST DEFINITION..., until the process ends. A
 * probe that was hit MOST times is removed. C++17; after make install:
 *	c++ -std=c++17 -o example docs/example.cc $(pkg-config --cflags --libs ubp) */
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <ubp.h>
#include <ubp_event.h>
#include <ubp_live.h>

using Handler = std::function<void(const ubp_event *)>;

class Session {
	struct Free {
		void operator()(ubp_session *s) const { ubp_session_free(s); }
	};
	ubp_err err{};
	pid_t pid;
	std::unique_ptr<ubp_session, Free> session;
	std::list<Handler> handlers;

	void check(int64_t rc)
	{
		if (rc < 0)
			throw std::runtime_error(err.text);
	}
	static int on_event(void *, const ubp_event *event)
	{
		if (auto handler = static_cast<Handler *>(ubp_event_cookie(event)))
			(*handler)(event);
		return 0;
	}

public:
	explicit Session(pid_t of) : pid(of)
	{
		ubp_options opt = UBP_OPTIONS_INIT;
		ubp_session *s = nullptr;

		opt.pids = &pid;
		opt.n_pids = 1;
		check(ubp_session_new(&opt, &s, &err));
		session.reset(s);
		check(ubp_start(s, &err));
	}
	size_t add(const char *definition, Handler handler)
	{
		ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
		size_t number;

		opt.cookie = &handlers.emplace_back(std::move(handler));
		check(ubp_probes_add(session.get(), &definition, 1, &opt, &number, nullptr, &err));
		return number;
	}
	void remove(size_t number) { check(ubp_probes_remove(session.get(), &number, 1, &err)); }
	std::string name(size_t number) { return ubp_probe_event(session.get(), number); }
	void run()
	{
		pollfd p = { ubp_fd(session.get()), POLLIN, 0 };

		while (!ubp_is_done(session.get()))
			if (poll(&p, 1, -1) > 0)
				check(ubp_dispatch(session.get(), on_event, nullptr, &err));
		ubp_stop(session.get());
		check(ubp_drain(session.get(), on_event, nullptr, &err));
	}
};

int main(int argc, char **argv)
try {
	if (argc < 4)
		throw std::runtime_error("example PID MOST DEFINITION...");
	Session session(std::atoi(argv[1]));
	const long most = std::atol(argv[2]);
	std::list<std::pair<std::string, long>> counts;

	for (int i = 3; i < argc; i++) {
		auto &count = counts.emplace_back("", 0);
		size_t number = session.add(argv[i], [&, most](const ubp_event *event) {
			if (++count.second == most)
				session.remove(static_cast<size_t>(ubp_event_probe(event)));
		});

		count.first = session.name(number);
	}
	std::fprintf(stderr, "ready\n");
	session.run();
	for (const auto &[name, n] : counts)
		std::printf("%s %ld\n", name.c_str(), n);
} catch (const std::exception &e) {
	std::fprintf(stderr, "%s\n", e.what());
	return 1;
}
