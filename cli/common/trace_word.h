/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Words without an option that are not what they were meant to be. */

#ifndef UBP_CLI_COMMON_TRACE_WORD_H
#define UBP_CLI_COMMON_TRACE_WORD_H

/* CLI_OK, or said what is wrong: with a word that may be a definition; with what stands behind @definition as its filter. */
int trace_word_check_form(const char *word);
int trace_word_check_filter(const char *word, const char *definition);

#endif
