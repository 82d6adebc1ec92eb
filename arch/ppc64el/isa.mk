# SPDX-License-Identifier: LGPL-2.1-or-later
# It has no host half yet, so no machines.
# What its cross compiler's name begins with (make cross-ppc64el).
cross_ppc64el := powerpc64le-linux-gnu-
