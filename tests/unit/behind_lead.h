/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifndef UBP_TESTS_UNIT_BEHIND_LEAD_H
#define UBP_TESTS_UNIT_BEHIND_LEAD_H

/* Run another unit test, by its name, with @lead (of the laboratory's) in front of each window: it passes. */
void behind_lead(const char *lead, const char *test);

#endif
