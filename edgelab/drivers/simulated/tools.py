"""Stand-ins for the tools that all boards have, as shell scripts. `$BOARD` is the tree, `$AS_ROOT` sudo's mark."""

from __future__ import annotations

# Asks up to three times, as sudo does, and never says which password it wants.
SUDO = r"""
mode=$(/bin/cat "$BOARD/etc/edgelab/sudo"); stdin=; never=; prompt='[sudo] password for lab: '
while :; do case "$1" in
    -n) never=1; shift;; -S) stdin=1; shift;; -p) prompt=$2; shift 2;; --) shift; break;; *) break;;
esac; done
case "$mode" in
denied) echo "lab is not in the sudoers file." >&2; exit 1;;
password:*)
    [ -z "$never" ] && [ -n "$stdin" ] || { echo 'sudo: a password is required' >&2; exit 1; }
    tries=0; right=
    while printf '%s' "$prompt" >&2; IFS= read -r given; do
        [ "$given" != "${mode#password:}" ] || { right=1; break; }
        tries=$((tries + 1)); [ $tries != 3 ] || break
        echo 'Sorry, try again.' >&2
    done
    if [ -z "$right" ]; then
        [ $tries = 3 ] || echo 'sudo: no password was provided' >&2
        case $tries in
        0) echo 'sudo: a password is required' >&2;;
        1) echo 'sudo: 1 incorrect password attempt' >&2;;
        *) echo "sudo: $tries incorrect password attempts" >&2;;
        esac
        exit 1
    fi;;
esac
AS_ROOT=1; export AS_ROOT; exec "$@"
"""

ID = r"""
if [ "$1" = -u ]; then [ -n "$AS_ROOT" ] && echo 0 || echo 1000; exit; fi
[ -n "$AS_ROOT" ] && echo 'uid=0(root) gid=0(root)' || echo 'uid=1000(lab) gid=1000(lab)'
"""

# Under /sys this is the kernel: what a node takes, and what it then holds. tee copies its input in any case.
TEE = r"""
for path; do :; done
case "$path" in
"$BOARD"/sys/*) ;;
*)  [ -e "$BOARD/etc/edgelab/full" ] && [ -f "$path" ] || exec /usr/bin/tee "$@"
    /bin/cat; echo "tee: $path: No space left on device" >&2; exit 1;;
esac
value=$(/bin/cat); printf '%s\n' "$value"; value=$(echo $value)
folder=${path%/*}; name=${path##*/}
no() { echo "tee: $path: $1" >&2; exit 1; }
line() { IFS= read -r one <"$1" && echo "$one"; }
ends() { tr ' ' '\n' <"$folder/available_frequencies" | grep . | sort -n | sed -n "$1p"; }
number() { case "$value" in ''|*[!0-9]*) no 'Invalid argument';; esac; }
listed() {
    case " $(line "$folder/$1") " in *" $value "*) ;; *) no 'Invalid argument';; esac
    [ ! -e "$BOARD/etc/edgelab/governor_refused" ] || no 'Invalid argument'
}
[ -e "$path" ] && [ -n "$AS_ROOT" ] || no 'Permission denied'
case "$name" in
scaling_governor) listed scaling_available_governors;;
governor) listed available_governors
    # A vendor's page says that the memory's governor, listed for the GPU as well, crashes the kernel there.
    case "$value $folder" in "dmc_ondemand "*.gpu*) : >"$BOARD/etc/edgelab/events/reboot";; esac;;
set_freq) [ "$(line "$folder/../governor")" = userspace ] || no 'Invalid argument'; number;;
# Limits of devfreq are requests in whole kHz since kernel 5.5; an upper one of 0 asks for nothing.
min_freq) number; value=$((value / 1000 * 1000)); low=$(ends 1); [ "$value" -ge "$low" ] || value=$low;;
max_freq) number; value=$((value / 1000 * 1000)); high=$(ends '$')
    [ "$value" != 0 ] && [ "$value" -le "$high" ] || value=$high;;
scaling_min_freq|scaling_max_freq) number
    low=$(line "$folder/cpuinfo_min_freq"); high=$(line "$folder/cpuinfo_max_freq")
    [ "$value" -ge "$low" ] || value=$low
    [ "$value" -le "$high" ] || value=$high;;
pwm1|tpc_pg_mask|rate|mrq_rate_locked) number;;
*) no 'Permission denied';;
esac
echo "$value" >"$BOARD/.tee$$" && mv -f "$BOARD/.tee$$" "$path"
"""

DF = r"""
echo 'Filesystem     1024-blocks     Used Available Capacity Mounted on'
/bin/cat "$BOARD/etc/edgelab/df"
"""

CAT = r"""
if [ $# = 0 ] && [ -e "$BOARD/etc/edgelab/full" ] && [ -f /dev/fd/1 ]; then
    echo 'cat: write error: No space left on device' >&2; exit 1
fi
exec /bin/cat "$@"
"""

DATE = r"""
IFS= read -r offset <"$BOARD/etc/edgelab/clock_offset"
[ "$offset" = 0 ] && exec /bin/date "$@"
exec /bin/date -d "$offset seconds" "$@"
"""

# Clocks follow a load at once: what nodes hold under load and at rest lies ready.
GPU_LOAD = r"""
busy="$BOARD/etc/edgelab/busy"; mkdir -p "$busy"; : >"$busy/$$"
cp -r "$BOARD/etc/edgelab/loaded/." "$BOARD/"
sleep "${1:-1}" >/dev/null 2>&1 &
trap 'kill $!' TERM INT HUP
wait $!
rm -f "$busy/$$"
[ -n "$(ls "$busy")" ] || cp -r "$BOARD/etc/edgelab/idle/." "$BOARD/"
"""

COMMON = {
    "bin/sudo": SUDO,
    "bin/id": ID,
    "bin/tee": TEE,
    "bin/df": DF,
    "bin/cat": CAT,
    "bin/date": DATE,
    "bin/gpu-load": GPU_LOAD,
}
"""The tools by their path in the tree."""
