/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For children that are no program of their own: they hold no descriptor of the host. */

#ifndef UBP_TRACE_DESCRIPTORS_H
#define UBP_TRACE_DESCRIPTORS_H

/*
 * Close all descriptors but two, @keep (-1: none). A pipe that a child of ours held open
 * would never see its end. Takes no lock: the host may have had other threads.
 */
void descriptors_keep(const int keep[2]);

#endif
