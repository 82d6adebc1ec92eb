/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/reader_bytes.h"

#include <stdlib.h>

/* READER_SPARE_N: too large. */
static unsigned size_class(size_t size)
{
	unsigned i = 0;

	while (i < READER_SPARE_N && size > 1UL << (READER_SPARE_LEAST + i))
		i++;
	return i;
}

bool reader_bytes_take(struct reader_spare *spare, size_t size, struct reader_bytes *ret_bytes)
{
	unsigned i = size_class(size);

	ret_bytes->room = i < READER_SPARE_N ? 1UL << (READER_SPARE_LEAST + i) : size;
	if (i < READER_SPARE_N && spare->of_size[i]) {
		ret_bytes->data = (uint8_t *)spare->of_size[i];
		spare->of_size[i] = spare->of_size[i]->next;
	} else {
		ret_bytes->data = malloc(ret_bytes->room);
	}
	return ret_bytes->data;
}

void reader_bytes_give(struct reader_spare *spare, struct reader_bytes bytes)
{
	unsigned i = size_class(bytes.room);
	struct reader_spare_one *one = (void *)bytes.data;

	if (!one || i == READER_SPARE_N) {
		free(bytes.data);
		return;
	}
	one->next = spare->of_size[i];
	spare->of_size[i] = one;
}

void reader_spare_free(struct reader_spare *spare)
{
	for (unsigned i = 0; i < READER_SPARE_N; i++) {
		while (spare->of_size[i]) {
			struct reader_spare_one *one = spare->of_size[i];

			spare->of_size[i] = one->next;
			free(one);
		}
	}
}
