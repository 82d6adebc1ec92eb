# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# arg1, arg2, ...: arguments by number, as programs of this machine pass them, in registers and on the stack.
. "${0%/*}/lib.bash"

F=$FIXTURES/args_int
widths="p:a/w $F:widths arg1:s8 arg2:u8 arg3:s16 arg4:u16 arg5:s32 arg6:u32 arg7:s64 last=arg8:u64"
for mode in auto trap; do
	echo go | "$UPROBE" --mode $mode -o out.txt -e "$widths" -e "p:a/a $F:area height=\$arg2:s32" -- "$F" > /dev/null || fail "$mode: ended with $?"
	expect_count 1 ' w: .* arg1=-1 arg2=255 arg3=-2 arg4=65535 arg5=-3 arg6=4294967295 arg7=-4 last=18446744073709551615$'
	expect_count 1 ' w: .* arg1=127 arg2=128 arg3=32767 arg4=32768 arg5=2147483647 arg6=2147483648 arg7=9223372036854775807 last=1$'
	expect_count 3 ' a: .* height=[468]$'
done
"$UPROBE" -o out.txt 'p:libc:fopen arg1:string mode=+0(arg2):string' -- python3 -c 'import ctypes; ctypes.CDLL(None).fopen(b"/etc/hostname", b"r")' || fail "fopen: $?"
expect_count 1 'arg1="/etc/hostname" mode="r"'

# What is read back is the kernel's.
"$UPROBE" --check "$widths" > checked.txt || fail "--check"
case $(uname -m) in
x86_64) want='arg1=%di:s8 arg2=%si:u8 arg3=%dx:s16 arg4=%cx:u16 arg5=%r8:s32 arg6=%r9:u32 arg7=$stack1:s64 last=$stack2:u64' ;;
aarch64) want='arg1=%x0:s8 arg2=%x1:u8 arg3=%x2:s16 arg4=%x3:u16 arg5=%x4:s32 arg6=%x5:u32 arg7=%x6:s64 last=%x7:u64' ;;
*) want= ;;
esac
grep -qF " $want" checked.txt || fail "$(cat checked.txt)"
[ "$(uname -m)" != x86_64 ] || "$UPROBE" --strict --check "$(sed -E 's/^p:a/p:b/' checked.txt)" > /dev/null || fail "it is not the kernel's"

refused 'Arguments are known only where a function is entered' "r:$F:area arg1"
refused 'Arguments are known only where a function is entered' "p:$F:area+4 arg1"
refused "There is no variable 'arg0' here" "p:$F:area arg0"
refused "There is no variable 'arg1' here" "p:$F:area (arg1)"
refused 'arg. can be used only on function entry' --strict "p:b/b $F:0x1300 \$arg1"

# Of a program of 32 bits, each in a word on the stack.
F32=$UBP_BUILD/fixtures32/args_int
if [ -x "$F32" ] && "$UBP_BUILD/fixtures32/exit_code" exit; then
	narrow="p:a/n $F32:widths arg1:s8 arg2:u8 arg3:s16 arg4:u16 arg5:s32 arg6:u32"
	"$UPROBE" --check "$narrow" | grep -qF ' arg1=$stack1:s8 arg2=$stack2:u8 arg3=$stack3:s16 arg4=$stack4:u16 arg5=$stack5:s32 arg6=$stack6:u32' ||
		fail "32 bits: $("$UPROBE" --check "$narrow")"
	for mode in auto trap; do
		echo go | "$UPROBE" --mode $mode -o out.txt "$narrow" -- "$F32" > /dev/null || fail "32 bits, $mode: ended with $?"
		expect_count 1 ' n: .* arg1=-1 arg2=255 arg3=-2 arg4=65535 arg5=-3 arg6=4294967295$'
		expect_count 1 ' n: .* arg1=127 arg2=128 arg3=32767 arg4=32768 arg5=2147483647 arg6=2147483648$'
	done
else
	echo "programs of 32 bits: not here"
fi
