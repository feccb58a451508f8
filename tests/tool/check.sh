#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh BUILD - what the command-line tool does without a device: exit
# statuses, one line on standard error, the environment of what it runs, and what
# it makes of the files of a system, which are made up here.

set -u
build=${1:?}
compch=$build/compch
library=$build/libcompch.so.0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
unset LD_PRELOAD COMPCH COMPCH_AUTO_ACK

# expect TITLE STATUS STDOUT STDERR COMMAND... - the outputs are patterns for the
# whole of them.
expect()
{
	local title=$1 status=$2 out=$3 err=$4 got=0
	shift 4

	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	# shellcheck disable=SC2053 # patterns
	if [ "$got" = "$status" ] && [[ $(<"$tmp/out") == $out ]] &&
	   [[ $(<"$tmp/err") == $err ]] && [ "$(wc -l <"$tmp/err")" -le "${lines:-1}" ]
	then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $title"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $title"
		echo "# exit status $got"
		sed 's/^/# /' "$tmp/out" "$tmp/err"
	fi
}

# shellcheck disable=SC2016 # expanded in there
show='echo "$LD_PRELOAD|$COMPCH|$COMPCH_AUTO_ACK|$*"'

lines=99 expect "usage without a command" 2 "" "usage: compch *" "$compch"
expect "help" 0 "usage: compch *" "" "$compch" --help
expect "version" 0 "compch $(<VERSION)" "" "$compch" --version
expect "unknown command" 2 "" "compch: there is no command 'frob'*" \
	"$compch" frob
expect "output that cannot be written" 125 "" "compch: standard output: *" \
	sh -c "'$compch' --help >/dev/full"

expect "run preloads the library" 0 "$library||[|]" "" \
	"$compch" run sh -c "$show"
expect "run keeps what is preloaded" 0 "$library:libc.so.6||[|]" "" \
	env LD_PRELOAD=libc.so.6 "$compch" run sh -c "$show"
expect "run --require" 0 "$library|require|[|]" "" \
	"$compch" run --require sh -c "$show"
expect "run -r --auto-ack" 0 "$library|require|1[|]" "" \
	"$compch" run -r --auto-ack -- sh -c "$show"
expect "the program's options are its own" 0 "$library||[|]--require -x" "" \
	"$compch" run sh -c "$show" sh --require -x
expect "the program's exit status" 42 "" "" "$compch" run sh -c 'exit 42'
expect "run --help" 0 "usage: compch run *" "" "$compch" run --help
lines=99 expect "run without a program" 125 "" "usage: compch run *" \
	"$compch" run --
expect "unknown option" 125 "" "compch: run: there is no option '--frob'*" \
	"$compch" run --frob sh
expect "not found" 127 "" "compch: cannot run 'nonesuch': *" \
	"$compch" run nonesuch
expect "not found, by its path" 127 "" "compch: cannot run './nonesuch': *" \
	"$compch" run ./nonesuch
echo 'exit 0' >"$tmp/plain"
expect "not executable" 126 "" "compch: cannot run '$tmp/plain': *" \
	"$compch" run "$tmp/plain"
expect "a directory" 126 "" "compch: cannot run '$tmp': *" \
	"$compch" run "$tmp"
printf '#!/bin/sh\nexit 7\n' >"$tmp/script"
chmod +x "$tmp/script"
expect "a script" 7 "" "" env PATH="$tmp:$PATH" "$compch" run script

echo 'int main(void) { return 0; }' >"$tmp/prog.c"
cc -static -o "$tmp/static" "$tmp/prog.c"
expect "statically linked" 125 "" "*'$tmp/static'*: it is statically linked" \
	"$compch" run "$tmp/static"
cc -o "$tmp/setuid" "$tmp/prog.c"
if chown 1 "$tmp/setuid" 2>/dev/null && chmod 4755 "$tmp/setuid"; then
	expect "with privileges of its own" 125 "" \
		"*'$tmp/setuid'*: it runs with privileges of its own" \
		"$compch" run "$tmp/setuid"
	# That it cannot be read makes no difference.
	mkdir "$tmp/bin"
	cp "$compch" "$library" "$tmp/bin"
	chmod 711 "$tmp"
	nobody=(setpriv --reuid nobody --regid nogroup --clear-groups
		"$tmp/bin/compch" run --require)
	chmod 4711 "$tmp/setuid"
	expect "with privileges of its own, and not to be read" 125 "" \
		"*'$tmp/setuid'*: it runs with privileges of its own" \
		"${nobody[@]}" "$tmp/setuid"
	chmod 711 "$tmp/setuid"
	expect "without these, and not to be read" 0 "" "" \
		"${nobody[@]}" "$tmp/setuid"
fi
# The header of a program: what it is for is in bytes 4, 5, 18 and 19.
for byte in 4 5 19; do
	cc -o "$tmp/foreign" "$tmp/prog.c"
	printf '\003' | dd of="$tmp/foreign" bs=1 seek=$byte conv=notrunc status=none
	expect "for another machine, by byte $byte" 125 "" \
		"*'$tmp/foreign'*: it is for another machine *" \
		"$compch" run --require "$tmp/foreign"
done

mkdir "$tmp/a:b"
cp "$compch" "$library" "$tmp/a:b/"
expect "a path that cannot be preloaded" 125 "" \
	"compch: the dynamic linker cannot preload *" "$tmp/a:b/compch" run true

# --- what it lists ------------------------------------------------------------

root=$tmp/root
class=$root/sys/class/infiniband
debug=$root/sys/kernel/debug/compch

# ibdev NAME UVERBS - a device
ibdev()
{
	mkdir -p "$class/$1" "$root/sys/class/infiniband_verbs/$2"
	echo "$1" >"$root/sys/class/infiniband_verbs/$2/ibdev"
}

# extend NAME DRIVER-ID [ABI] - the module knows it
extend()
{
	mkdir -p "$class/$1/compch"
	echo "$2" >"$class/$1/compch/driver_id"
	echo "${3:-1}" >"$class/$1/compch/abi_version"
}

mkdir -p "$root/sys/module/ib_compch" "$debug" "$root/dev/infiniband" \
	"$root/proc/sys/kernel" "$root/proc/self"
cp VERSION "$root/sys/module/ib_compch/version"
echo 6.1.0-57-amd64 >"$root/proc/sys/kernel/osrelease"
limits="Limit                     Soft Limit           Hard Limit           Units"
printf '%s\n' "$limits" \
	"Max open files            1024                 1048576              files" \
	"Max locked memory         unlimited            unlimited            bytes" \
	>"$root/proc/self/limits"
ibdev rxe0 uverbs0
extend rxe0 14
: >"$root/dev/infiniband/uverbs0"
ibdev mlx5_0 uverbs1
extend mlx5_0 1
mkdir -p "$root/sys/bus/pci/drivers/mlx5_core" "$class/mlx5_0/device"
ln -s ../../../../bus/pci/drivers/mlx5_core "$class/mlx5_0/device/driver"
ibdev taken0 uverbs2
ibdev other0 uverbs3
extend other0 5 9
cat >"$debug/channels" <<'END'
channel=12 device=mlx5_0 state=open flags=1 cqs=2 pending=3 reported=100 merged=7 discarded=0 wakeups=20 longest=2 cancels=0 idle_ms=15 pid=4711 comm=a\040"server\134
channel=3 device=rxe0 state=closed flags=0 cqs=0 pending=0 reported=0 merged=0 discarded=1 wakeups=0 longest=0 cancels=2 idle_ms=- pid=42 comm=idle
END
cat >"$debug/cqs" <<'END'
device=mlx5_0 cqn=10 channel=12 cookie=0x5566 pending=3 reported=60 merged=7 longest=5 idle_ms=15 pid=4711 comm=a\040"server\134
device=mlx5_0 cqn=9 channel=12 cookie=0x5577 pending=0 reported=40 merged=0 longest=1 idle_ms=20 pid=4711 comm=a\040"server\134
END
at=(-R "$root")

# json TITLE EXPRESSION COMMAND... - what it prints, "x", is valid JSON, and the
# expression is true of it.
json()
{
	local title=$1 expression=$2
	shift 2

	"$@" >"$tmp/json"
	expect "$title" 0 True "" python3 -c '
import json, sys
with open(sys.argv[1]) as f:
    x = json.load(f)
print(eval("(" + sys.argv[2] + ")"))' "$tmp/json" "$expression"
}

expect "version, in short" 0 "compch $(<VERSION)" "" "$compch" -V
expect "help, as a command" 0 "usage: compch *" "" "$compch" help
expect "abbreviation" 0 "CHANNEL *" "" "$compch" "${at[@]}" chan s
expect "ambiguous" 2 "" "compch: 'c' may be channel or cq" "$compch" c
expect "unknown global option" 2 "" "compch: '--frob' is no option*" \
	"$compch" --frob dev
for command in dev channel cq top adopt doctor; do
	expect "$command --help" 0 "usage: compch *$command*" "" \
		"$compch" "$command" --help
	expect "$command with something strange" 2 "" "compch: $command: *" \
		"$compch" "${at[@]}" "$command" --frob
done
for words in "dev show" "dev show mlx5_0" "channel show" "channel pid" "cq show pid 42" \
	     "adopt mlx5_0" "top -n 1"
do
	# shellcheck disable=SC2086 # words
	expect "$words --help" 0 "usage: compch *${words%% *}*" "" \
		"$compch" "${at[@]}" $words --help
done

expect "dev" 0 "DEVICE  UVERBS   DRIVER     EXTENDED  CHANNELS  CQS  EVENTS  WHY NOT
mlx5_0  uverbs1  mlx5_core  -                1    2     110  its file in /dev/infiniband is missing
other0  uverbs3  -          no               0    0       0  the module's interface has another version
rxe0    uverbs0  rdma_rxe   -                1    0       0  its uverbs device does not answer
taken0  uverbs2  -          no               0    0       0  its driver uses the module's object ids" \
	"" "$compch" "${at[@]}" dev
expect "dev show DEVICE" 0 "DEVICE *
taken0 *" "" "$compch" "${at[@]}" dev show taken0
expect "dev show, of none" 1 "" "compch: there is no RDMA device 'none0'" \
	"$compch" "${at[@]}" dev show none0
expect "dev show ../.." 1 "" "compch: there is no RDMA device '../..'" \
	"$compch" "${at[@]}" dev show ../..
json "dev in JSON" 'len(x) == 4 and x[0] == {"device": "mlx5_0",
	"uverbs": "uverbs1", "driver": "mlx5_core", "extended": None,
	"abi_version": 1, "channels": 1, "cqs": 2, "events": 110,
	"reason": "its file in /dev/infiniband is missing",
	"advice": x[0]["advice"]} and x[3]["extended"] is False' \
	"$compch" "${at[@]}" -j dev
expect "JSON is one line" 0 "1" "" sh -c "'$compch' -R '$root' -j dev | wc -l"
expect "pretty JSON is not" 0 "50" "" sh -c "'$compch' -R '$root' -p dev | wc -l"
json "pretty JSON" 'len(x) == 4' "$compch" "${at[@]}" -p dev

expect "channel" 0 "CHANNEL  DEVICE  STATE   FLAGS     CQS  PENDING  REPORTED  MERGED  DISCARDED  WAKEUPS  LONGEST  IDLE-MS   PID  COMMAND
      3  rxe0    closed  -           0        0         0       0          1        0        0        -    42  idle
     12  mlx5_0  open    coalesce    2        3       100       7          0       20        2       15  4711  a\\\\040\"server\\\\134" \
	"" "$compch" "${at[@]}" channel
expect "channel pid" 0 "CHANNEL *
      3  *" "" "$compch" "${at[@]}" channel show pid 42
expect "channel of nobody" 0 "" "" "$compch" "${at[@]}" channel show pid 43
expect "channel pid, without one" 2 "" "compch: channel: which pid?" \
	"$compch" "${at[@]}" channel pid
expect "channel pid, not a number" 2 "" "compch: channel: 'x' is no number" \
	"$compch" "${at[@]}" channel pid x
json "channel in JSON" '[c["channel"] for c in x] == [3, 12] and
	x[0]["idle_ms"] is None and x[0]["flags"] == [] and
	x[0]["cancels"] == 2 and x[1]["flags"] == ["coalesce"] and
	x[1]["comm"] == "a \"server\\"' "$compch" "${at[@]}" -j channel
json "none in JSON" 'x == []' "$compch" "${at[@]}" -j channel pid 43
expect "cq" 0 "DEVICE  CQN  CHANNEL  PENDING  REPORTED  MERGED  LONGEST  IDLE-MS   PID  COMMAND
mlx5_0    9       12        0        40       0        1       20  4711  *
mlx5_0   10       12        3        60       7        5       15  4711  *" \
	"" "$compch" "${at[@]}" cq
expect "cq, chosen twice" 0 "DEVICE *
mlx5_0   10 *" "" "$compch" "${at[@]}" cq show device mlx5_0 cqn 10
expect "cq, chosen by what may be two" 2 "" \
	"compch: cq: 'c' may be channel or cqn" "$compch" "${at[@]}" cq c 12
expect "cq, chosen by the beginning of one" 0 "DEVICE *
mlx5_0   10 *" "" "$compch" "${at[@]}" cq ch 12 cq 10
json "cq in JSON" 'len(x) == 2 and x[1]["cookie"] == "0x5566"' \
	"$compch" "${at[@]}" -j cq show

# What a process calls itself must neither break JSON nor move the cursor.
cp "$debug/channels" "$tmp/channels"
printf 'channel=1 device=rxe0 pid=1 comm=\033[2J\377\n' >"$debug/channels"
expect "control characters" 0 "CHANNEL *1  ?\[2J*" "" \
	"$compch" "${at[@]}" channel
printf 'channel=1 comm=a\302\233m\302\200\302\240\303\244\233b\n' >"$debug/channels"
expect "control characters of two bytes" 0 $'CHANNEL *1  *  a?m?\302\240\303\244?b' "" \
	"$compch" "${at[@]}" channel
expect "and in JSON" 0 $'*"comm":"a\\\\u009bm\\\\u0080\302\240\303\244\\\\ufffdb"}]' "" \
	"$compch" "${at[@]}" -j channel
printf 'channel=1 device=rxe0 pid=1 comm=\033[2J\377\n' >"$debug/channels"
json "what is not UTF-8" 'x[0]["comm"] == "\x1b[2J\ufffd" and
	x[0]["pending"] is None' "$compch" "${at[@]}" -j channel
printf 'frob\n\nchannel device=rxe0\n=\nchannel=99999999999999999999\n' \
	>"$debug/channels"
json "lines that make no sense" 'len(x) == 4 and
	all(c["channel"] is None for c in x)' "$compch" "${at[@]}" -j channel
mv "$tmp/channels" "$debug/channels"

expect "top needs a time" 2 "" "compch: top: '0' is not a time *" \
	"$compch" "${at[@]}" top -d 0
expect "top needs a count" 2 "" "compch: top: '-1' is not how often *" \
	"$compch" "${at[@]}" top -n -1
expect "top in JSON needs an end" 2 "" "compch: top: JSON needs an end*" \
	"$compch" "${at[@]}" -j top
# Each look at the file gets what comes next, which is in another pipe: who has
# opened one may not have closed it yet.
mkfifo "$tmp/fifo" "$tmp/fifo2"
mv "$debug/cqs" "$tmp/cqs"
ln -s "$tmp/fifo" "$debug/cqs"
more="device=rxe0 cqn=1 channel=3 cookie=0x1 pending=1 reported=1000 merged=0 pid=42 comm=new"
feed()
{
	{
		ln -sf "$tmp/fifo2" "$debug/cqs"
		cat "$tmp/cqs"
	} >"$tmp/fifo"
	{
		ln -sf "$tmp/fifo" "$debug/cqs"
		sed 's/reported=40/reported=50/' "$tmp/cqs"
		echo "$more"
	} >"$tmp/fifo2"
}
feed &
json "top" '[c["cqn"] for c in x[0]] == [1, 9, 10] and
	x[0][0]["events_per_second"] > 50 * x[0][1]["events_per_second"] > 0 and
	x[0][2]["events_per_second"] == 0' \
	timeout 20 "$compch" "${at[@]}" -j top -n 1 -d 0.1
wait
feed &
expect "top, for people" 0 "3 CQs on channels, [1-9]*.? events/s
EVENTS/S  DEVICE  CQN *
*rxe0 *
*mlx5_0    9 *
     0.0  mlx5_0   10 *" "" timeout 20 "$compch" "${at[@]}" top -n 1 -d 0.1
wait
feed &
expect "top that cannot be written says so once" 125 "" \
	"compch: standard output: *" timeout 20 sh -c \
	"'$compch' -R '$root' top -b -n 3 -d 0.1 >/dev/full"
wait
# longest COLUMNS COMMAND... - how many bytes the longest line has that it prints
# on a terminal, which is so wide
longest()
{
	python3 -c '
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
out = b""
try:
    while part := os.read(fd, 4096):
        out += part
except OSError:
    pass
out.decode()
lines = out.replace(b"\033[H\033[J", b"").splitlines()
print(max(len(line) for line in lines))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
more+=$(printf '\303\244%.0s' {1..30})
for width in 12 40 90 91; do
	feed &
	# Not within a character, of which the last ones have two bytes
	expect "top on a terminal with $width columns" 0 "@($width|$((width - 1)))" "" \
		longest "$width" timeout 20 "$compch" "${at[@]}" top -n 1 -d 0.1
	wait
done
feed &
expect "top --batch there" 0 "1[0-9][0-9]" "" \
	longest 40 timeout 20 "$compch" "${at[@]}" top -b -n 1 -d 0.1
wait
# The file is gone when it is looked at again.
vanish()
{
	{
		ln -sf "$tmp/fifo2" "$debug/cqs"
		cat "$tmp/cqs"
	} >"$tmp/fifo"
	{
		rm "$debug/cqs"
		cat "$tmp/cqs"
	} >"$tmp/fifo2"
}
vanish &
expect "top loses its file" 1 "\[\[{*}\]\]" "compch: the module *" \
	timeout 20 "$compch" "${at[@]}" -j top -n 3 -d 0.1
wait
mv "$tmp/cqs" "$debug/cqs"

# Whatever is a key has a tag of its own in the manual.
for command in dev channel cq "top -n 1 -d 0.1" doctor; do
	# shellcheck disable=SC2086 # words
	"$compch" "${at[@]}" -j $command >"$tmp/json"
	expect "keys of ${command%% *} are in compch(8)" 0 "" "" python3 -c '
import json, sys
lines = open("userspace/man/compch.8").read().split("\n")
tags = {word.strip("\",") for tp, tag in zip(lines, lines[1:]) if tp == ".TP"
        for word in tag.split()[1:]}
rows = json.load(open(sys.argv[1]))
while isinstance(rows, list):
    rows = rows[0]
print(*sorted(rows.keys() - tags))' "$tmp/json"
done

expect "adopt, of none" 1 "" "compch: there is no RDMA device 'none0'" \
	"$compch" adopt none0
expect "adopt nothing" 2 "" "compch: adopt: which device?*" "$compch" adopt
expect "adopt two" 2 "" "compch: adopt: one device *" "$compch" adopt a b
expect "adopt what cannot be" 1 "" \
	"compch: taken0: its driver uses the module's object ids: *" \
	"$compch" "${at[@]}" adopt --force taken0
expect "adopt what the tool does not understand" 1 "" \
	"compch: other0: the module's interface has another version: install *" \
	"$compch" "${at[@]}" adopt --force other0

# --- what it adopts ------------------------------------------------------------

# On a host that is made up, with a device that was there before the module
host=$tmp/host
class=$host/sys/class/infiniband
root=$host
ibdev fake0 uverbs0
extend fake0 14
echo 231:192 >"$host/sys/class/infiniband_verbs/uverbs0/dev"
mkdir -p "$host/sys/module/ib_compch" "$host/dev/infiniband"
: >"$host/dev/infiniband/uverbs0"
mkdir -p "$class/fake0/device/driver" "$host/sys/module/fake"
ln -s ../../../../../module/fake "$class/fake0/device/driver/module"

cc -shared -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE -o "$tmp/fake.so" \
	tests/tool/fake.c -lmnl || exit 1

# adopts TITLE STATUS STDOUT STDERR LOG [VARIABLE=VALUE]... COMMAND... - and this
# is what it has asked the kernel for.
adopts()
{
	local title=$1 status=$2 out=$3 err=$4 log=$5
	shift 5

	: >"$tmp/log"
	# Who has started this may ignore some.
	expect "adopt: $title" "$status" "$out" "$err" \
		env --default-signal=HUP,INT,TERM LD_PRELOAD="$tmp/fake.so" \
		FAKE_ROOT="$host" FAKE_DEVICE=fake0 FAKE_LOG="$tmp/log" "$@"
	expect "adopt: $title: what it does" 0 "$log" "" \
		sh -c "tr '\n' ' ' <'$tmp/log'"
}

adopts "there and back" 0 "" "compch: fake0 is extended now" \
	"exclusive move move shared " "$compch" adopt fake0
adopts "what cannot be moved" 1 "modprobe -r fake && modprobe fake" \
	"compch: fake0: its driver cannot move it *; this registers it anew:" \
	"exclusive move shared " FAKE_MOVE=95 "$compch" adopt fake0
for signal in HUP INT TERM; do
	number=$(kill -l $signal)
	adopts "SIG$signal while no device is shared" $((128 + number)) "" "" \
		"exclusive move move shared " "FAKE_SIGNAL=$number" \
		"$compch" adopt fake0
done
# The numbers are those of /dev/zero, /dev/full and /dev/random.
for file in verbs/uverbs0=1:5 mad/umad0=1:7 mad/issm0=1:8 mad/umad1=1:9; do
	path=$host/sys/class/infiniband_${file%=*}
	mkdir -p "$path"
	echo fake0 >"$path/ibdev"
	echo "${file#*=}" >"$path/dev"
done
echo other0 >"$host/sys/class/infiniband_mad/umad1/ibdev"
mkdir -p "$host/proc/42/fd" "$host/proc/43/fd"
printf 'a\302\233m\033[m\n' >"$host/proc/42/comm"
echo other >"$host/proc/43/comm"
# umad1 is another device's.
ln -s /dev/urandom "$host/proc/43/fd/3"
ln -s /dev/null "$host/proc/42/fd/0"
for file in zero full random; do
	ln -sf "/dev/$file" "$host/proc/42/fd/7"
	lines=2 adopts "with a user of /dev/$file" 1 "" \
		"compch: fake0 is used by process 42 (a?m?\[m)
compch: fake0: --force would take it away from them" "" "$compch" adopt fake0
done
lines=2 adopts "with a user, by force" 0 "" \
	"compch: fake0 is used by process 42 *
compch: fake0 is extended now" "exclusive move move shared " \
	"$compch" adopt --force fake0
rm "$host/proc/42/fd/7"
adopts "with no user left" 0 "" "compch: fake0 is extended now" \
	"exclusive move move shared " "$compch" adopt fake0
mv "$host/sys/class/infiniband_verbs" "$tmp/verbs"
adopts "without uverbs" 1 "" "compch: fake0: it has no uverbs device: *" "" \
	"$compch" adopt fake0
mv "$tmp/verbs" "$host/sys/class/infiniband_verbs"
echo 2 >"$class/fake0/compch/abi_version"
adopts "of another version" 1 "" \
	"compch: fake0: the module's interface has another version: install *" "" \
	"$compch" adopt fake0
echo 1 >"$class/fake0/compch/abi_version"
# One that has a driver for RDMA alone, as irdma is on ice or i40e
for name in mlx5_core.rdma.0 ice.roce.0 i40e.iwarp.0; do
	path=$class/fake0/device/$name
	mkdir -p "$path"
	ln -s ../../../../../bus/auxiliary "$path/subsystem"
	ln -s ../../../../../bus/auxiliary/drivers/some.rdma "$path/driver"
	bus=/sys/bus/auxiliary/drivers/some.rdma
	adopts "what cannot be moved, by $name" 1 \
		"echo $name >$bus/unbind && echo $name >$bus/bind" \
		"compch: fake0: its driver cannot move it *" \
		"exclusive move shared " FAKE_MOVE=95 "$compch" adopt fake0
	rm -r "$path"
done
adopts "its output is a command" 0 "" "compch: fake0 is extended now" \
	"exclusive move move shared " sh -c "sh -c \"\$('$compch' adopt fake0)\""

root=$tmp/root
class=$root/sys/class/infiniband

# --- completion ----------------------------------------------------------------

# completes WORDS TITLE PATTERN - what the last of the words may become; it calls
# the tool for names.
completes()
{
	# shellcheck disable=SC2016 # expanded in there
	expect "completion: $1" 0 "$2" "" env PATH="$tmp/path:$PATH" bash -uc '
		. userspace/compch/compch.bash
		COMP_WORDS=($1)
		[ "${1% }" = "$1" ] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_compch
		echo "${COMPREPLY[*]-}"' bash "$1"
}

mkdir "$tmp/path"
printf '#!/bin/sh\nexec "%s" -R "%s" "$@"\n' "$compch" "$root" >"$tmp/path/compch"
chmod +x "$tmp/path/compch"
completes "compch c" "channel cq"
completes "compch -j --v" "--version"
completes "compch dev show " "mlx5_0 other0 rxe0 taken0"
completes "compch adopt rx" "rxe0"
completes "compch -R / channel pid " "42 4711"
completes "compch channel " "show pid device channel --help"
completes "compch cq show channel " "3 12"
completes "compch cq show cqn 1" "10"
completes "compch cq show device o" "other0"
completes "compch top --i" "--iterations"
completes "compch top -n " ""
completes "compch run --r" "--require"

# --- what is wrong -----------------------------------------------------------------

# finding TITLE STATUS PATTERN - it says this, and the exit status is 1 if
# anything is wrong.
finding()
{
	expect "doctor: $1" "${3:-1}" "*$2*" "" "$compch" "${at[@]}" doctor
}

finding "a device" "wrong    device: other0: the module's interface has another version; install *"
finding "a device that cannot be opened" "wrong    permission: /dev/infiniband/uverbs1 is missing; in a container*"
rm -r "$class/other0" "$class/taken0" "$class/mlx5_0" \
	"$root/sys/class/infiniband_verbs"/uverbs[123]
finding "boot" "warning  boot: the module is not loaded at boot*" 0
mkdir -p "$root/etc/modules-load.d"
printf '# ours\nib_uverbs\nib_compch\n' >"$root/etc/modules-load.d/compch.disabled"
finding "boot, by a file that is not read" \
	"warning  boot: the module is not loaded at boot*" 0
mv "$root/etc/modules-load.d/compch.disabled" "$root/etc/modules-load.d/compch.conf"
finding "boot, after drivers" "warning  boot: *, but modprobe.d does not *" 0
mkdir -p "$root/usr/lib/modprobe.d"
echo 'softdep ib_core pre: ib_compch' >"$root/usr/lib/modprobe.d/wrong.conf"
cp boot/modprobe.conf "$root/usr/lib/modprobe.d/compch.conf.old"
finding "boot, after drivers all the same" \
	"warning  boot: *, but modprobe.d does not *" 0
cp boot/modprobe.conf "$root/usr/lib/modprobe.d/compch.conf"
finding "boot, before drivers" \
	"ok       boot: the module is loaded at boot, before drivers *" 0
cp boot/modules-load.conf "$root/etc/modules-load.d/compch.conf"
finding "boot, by our own files" "ok       boot: *" 0
mkdir "$root/etc/modprobe.d"
ln -s /dev/null "$root/etc/modprobe.d/compch.conf"
finding "boot, with a file that hides ours" \
	"warning  boot: *, but modprobe.d does not *" 0
rm "$root/etc/modules-load.d/compch.conf" "$root/etc/modprobe.d/compch.conf"
finding "boot, by modprobe alone" "warning  boot: *, but modules-load.d does not *" 0
finding "memory" "ok       memory: a process may lock as much as it likes" 0
printf '%s\n' "$limits" \
	"Max open files            64                   1048576              files" \
	"Max locked memory         65536                65536                bytes" \
	>"$root/proc/self/limits"
finding "little memory" "warning  memory: a process may lock 64 kB, *; raise it: ulimit -l*" 0
finding "few files" "warning  memory: a process may have 64 files open*; raise it: ulimit -n*" 0
finding "the kernel" "ok       kernel: 6.1.0-57-amd64*" 0
echo 5.10.0 >"$root/proc/sys/kernel/osrelease"
finding "an old kernel" "wrong    kernel: 5.10.0 is too old; boot *"
echo 6.1.0-57-amd64 >"$root/proc/sys/kernel/osrelease"
echo 0.0.1 >"$root/sys/module/ib_compch/version"
finding "another version" "warning  module: ib_compch is version 0.0.1, and this tool $(<VERSION)*" 0
json "doctor in JSON" '{c["status"] for c in x} <= {"ok", "warning"} and
	[c["advice"] for c in x if c["check"] == "kernel"] == [None]' \
	"$compch" "${at[@]}" -j doctor
rm -r "$debug"
finding "debugfs" "warning  list: channels and CQs cannot be listed; mount *" 0
expect "no debugfs" 1 "" "compch: debugfs is not mounted*" \
	"$compch" "${at[@]}" channel
rm -r "$root/sys/module/ib_compch"
finding "no module" "wrong    module: ib_compch is not installed *; install *"
mkdir -p "$root/lib/modules/6.1.0-57-amd64"
echo "updates/ib_compch.ko: kernel/x.ko" \
	>"$root/lib/modules/6.1.0-57-amd64/modules.dep"
finding "module is not loaded" "wrong    module: ib_compch is not loaded; modprobe ib_compch*"
expect "no module" 1 "" "compch: the module ib_compch is not loaded" \
	"$compch" "${at[@]}" cq
rm -r "$class/rxe0"
finding "no device" "warning  device: there is no RDMA device; *"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
