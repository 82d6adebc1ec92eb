/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files and folders of a test's own, in /tmp. The test removes them. */

#ifndef UBP_TESTS_UNIT_TEMP_H
#define UBP_TESTS_UNIT_TEMP_H

/* Room for a path. */
#define TEMP_LEN 32

/* Make an empty folder. */
void temp_folder(char ret_path[TEMP_LEN]);

/* Make an empty file. */
void temp_file(char ret_path[TEMP_LEN]);

#endif
