# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --container ID: of all processes those in the control group of one container, whoever made it; the name that docker and
# podman know is as good. None, and several, are told. Nothing here needs docker: groups are made as it would make them.
# test-mounts
. "${0%/*}/lib.bash"
need_root
have findmnt
F=$PWD/hello
cp "$FIXTURES/hello" .

TOP=
for dir in $(findmnt -nt cgroup2 -o TARGET) $(findmnt -nt cgroup -O freezer -o TARGET); do
	if [ -n "$TOP" ] || ! mkdir "$dir/ubp-test-$$" 2> /dev/null; then continue; fi
	TOP=$dir/ubp-test-$$
done
[ -n "$TOP" ] || skip "no control group can be made"
drop_groups() { find "$TOP" -depth -type d -exec rmdir {} + 2> /dev/null; }
trap 'cleanup; drop_groups' EXIT

# in_group GROUP NAME: a process in it. Ids are not alike from run to run: others may have such groups, too.
in_group() {
	mkdir -p "$TOP/$1" || fail "mkdir"
	printf '#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s\n' "$TOP/$1" "$F" > "run_$2" && chmod 755 "run_$2"
	NAME=$2 start "$PWD/run_$2"
}
new_id() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
A=$(new_id) B=$(new_id) C=$(new_id) D=$(new_id) G=$(new_id)
E=${A:0:14}$(new_id) && E=${E:0:64}
in_group "system.slice/docker-$A.scope" docker
in_group "machine.slice/libpod-$B.scope/container" podman
in_group "machine.slice/libpod-conmon-$B.scope" conmon
in_group "kubepods/burstable/pod1/$C" kube
in_group "k.slice/k-pod.slice:cri-containerd:$D" cri
in_group "lxc.payload.web-$$" lxc
in_group "machine.slice/machine-box$$.scope/payload" nspawn
NAME=out start "$F"

chosen() { # chosen CONTAINER NAME: this process alone
	trace --container "$1" --stats "p:$F:greet"
	[ "$(traced_of docker podman conmon kube cri lxc nspawn out)" = "$2" ] || fail "--container $1: not $2"
	trace_stop
	[ "$(last_stat processes)" = 1 ] && [ "$(last_stat skipped)" = 0 ] || fail "--container $1: not one process"
}
# Who has memory of ours.
traced_of() {
	local name pid
	for name; do eval "pid=\$PID_$name"; ! grep -q 'rwxs\|r-xs\|ubp' "/proc/$pid/maps" || echo "$name"; done
}
chosen "$A" docker
chosen "${A:0:12}" docker
chosen "${B:0:12}" podman
chosen "$C" kube
chosen "${D:0:40}" cri
chosen "web-$$" lxc
chosen "box$$" nspawn

# One that comes later.
trace --lossless --container "${A:0:12}" "p:$F:greet"
NAME=late start "$PWD/run_docker"
NAME=out_late start "$F"
for name in docker late out_late; do go $name; finish $name; done
trace_stop
expect_count 2 ' greet: '
expect_count 0 "hello-$PID_out_late "
in_group "system.slice/docker-$A.scope" docker

refused "^uprobe: error: no process runs in a container '0123456789abcdef'\$" --container 0123456789abcdef "p:$F:greet"
refused "^uprobe: error: no process runs in a container '${A:0:11}': that is no name, and an id has 12 digits or more\$" --container "${A:0:11}" "p:$F:greet"
refused "^uprobe: error: no process runs in a container 'x$$': that is no name" --container "x$$" "p:$F:greet"
usage "--container takes an id or a name, not 'a/b'" --container a/b "p:$F:greet"
usage "--container is for all processes: it excludes -p, -L and a command" --container "$A" "p:$F:greet" -- true
usage "a control group or container is given twice" --container "$A" --container "$A" "p:$F:greet"
in_group "system.slice/docker-$E.scope" twin
refused "^uprobe: error: several containers are '${A:0:12}': give more of the id\$" --container "${A:0:12}" "p:$F:greet"
chosen "$A" docker
go twin && finish twin

# Files are those of the container.
F_IN=/mnt/only_in_there
[ ! -e $F_IN ] || skip "$F_IN exists here"
mkdir -p "$TOP/docker/$G"
printf '#!/bin/sh\nmount -t tmpfs none /mnt && cp %s %s && echo $$ > %s/cgroup.procs && exec %s\n' "$F" $F_IN "$TOP/docker/$G" $F_IN > in_box
printf '#!/bin/sh\nexec unshare -m sh %s/in_box\n' "$PWD" > run_box && chmod 755 run_box
NAME=box start "$PWD/run_box"
trace --lossless --container "${G:0:20}" "p:$F_IN:greet"
go box && finish box
trace_stop
expect_count 1 "only_in_there-$PID_box .* greet: "
NAME=box start "$PWD/run_box"
[ "$("$UPROBE" --container "$G" -l $F_IN greet)" = greet ] || fail "no list of a file in the container"
refused "only_in_there" "p:$F_IN:greet"
go box && finish box

# Names: as docker and podman write them down.
mount -t tmpfs none /var/lib 2> /dev/null || skip "nothing can be mounted here"
mkdir -p "/var/lib/docker/containers/$A" "/var/lib/docker/containers/$C" /var/lib/containers/storage/overlay-containers
printf '{"ID":"%s","Config":{"Image":"x"},"MountPoints":{"/d":{"Name":"db"}},"Name":"/shop","Driver":"overlay2"}' "$A" > "/var/lib/docker/containers/$A/config.v2.json"
printf '{"ID":"%s","Name":"/db"}' "$C" > "/var/lib/docker/containers/$C/config.v2.json"
printf '[{"id":"%s","names":["other"],"image":"shop"},{"id":"%s","layer":"web"},{"id":"%s","names":["web","web2"],"image":"y"}]' \
	"$(new_id)" "$(new_id)" "$B" > /var/lib/containers/storage/overlay-containers/containers.json
chosen shop docker
chosen db kube
chosen web2 podman
refused "^uprobe: error: no process runs in a container 'other'\$" --container other "p:$F:greet"
for name in docker podman conmon kube cri lxc nspawn out; do go $name; finish $name; done
exit 0
