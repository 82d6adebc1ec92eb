#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A chart of ubp-bench's JSON: overhead.sh FILE.json CHART.svg (or .png)
set -eu
[ $# = 2 ] || { echo "usage: $0 FILE.json CHART.{svg,png}" >&2; exit 2; }
command -v gnuplot > /dev/null || { echo "$0: needs gnuplot (Debian: gnuplot-nox)" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"${0%/*}/overhead.py" data "$1" > "$tmp/data"
case $2 in
*.png) terminal="pngcairo size 1400,620 font ',11'" ;;
*) terminal="svg size 1400,620 dynamic font 'sans-serif,13' background rgb 'white'" ;;
esac
where=$(sed -n '1s/^# //p' "$tmp/data")
highest=$(awk 'NR > 2 { for (i = 2; i <= NF; i++) if ($i > m) m = $i } END { print 5 * m }' "$tmp/data")
columns=$(awk 'NR == 3 { print NF }' "$tmp/data")
gnuplot <<END
set terminal $terminal
set output "$2"
set title "Time of one probed call, ns (median; less is better)\n{/*0.8 $where}"
set style data histograms
set style histogram clustered gap 1
set style fill solid border rgb "white"
set boxwidth 1
set logscale y
set yrange [1:$highest]
set format y "%.0f"
set grid ytics linecolor rgb "#dddddd"
set xtics scale 0
set key outside top center horizontal
set bmargin 4
short(x) = x < 10 ? sprintf("%.1f", x) : x < 10000 ? sprintf("%.0f", x) : sprintf("%.0fk", x / 1000)
colors = "#b0413e #2a7f62 #e0a030 #5b7db1"
plot for [i=2:$columns] "$tmp/data" using i:xtic(1) title columnheader(i) linecolor rgb word(colors, i - 1), \
     for [i=2:$columns] "$tmp/data" every ::1 \
         using (\$0 + (i - ($columns + 2) / 2.0) / $columns):i:(short(column(i))) \
         with labels rotate by 90 left offset 0,0.3 font ",9" notitle
END
