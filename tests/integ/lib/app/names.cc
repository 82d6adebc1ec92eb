/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions of C++, an exception. */

#include <stdexcept>

namespace ns {
template<class T> __attribute__((noinline)) T max(T a, T b)
{
	asm volatile("" ::: "memory");
	return a > b ? a : b;
}

class Parser
{
	const char *text;
	int at = 0;

      public:
	explicit Parser(const char *t) : text(t) { }
	__attribute__((noinline)) int next(int step)
	{
		asm volatile("" ::: "memory");
		if (!text[at])
			throw std::runtime_error("end");
		return text[at += step];
	}
};

__attribute__((noinline)) int f(int n, char *text)
{
	return max<int>(n, text ? 1 : 0);
}
} // namespace ns

__attribute__((noinline)) static void reset(int *n)
{
	*(volatile int *)n = 0;
}

extern "C" void next_token(const char *text)
{
	ns::Parser parser(text);
	int sum;

	reset(&sum);
	try {
		for (;;)
			sum += ns::f(parser.next(1), nullptr);
	} catch (const std::runtime_error &) {
		sum++;
	}
}
