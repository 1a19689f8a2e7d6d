"""Stand-ins for a board's tools, as shell scripts in its tree. `$BOARD` is the tree, `$AS_ROOT` is sudo's mark."""

from __future__ import annotations

SUDO = r"""
mode=$(cat "$BOARD/etc/edgelab/sudo"); want=; quiet=
while :; do case "$1" in
    -n) quiet=1; shift;; -S) want=1; shift;; -p) shift 2;; --) shift; break;; *) break;;
esac; done
case "$mode" in
denied) echo "lab is not in the sudoers file." >&2; exit 1;;
password:*)
    [ -n "$want" ] || { echo "sudo: a password is required" >&2; exit 1; }
    IFS= read -r given
    if [ "$given" != "${mode#password:}" ]; then
        printf 'Sorry, try again.\nsudo: 1 incorrect password attempt\n' >&2; exit 1
    fi;;
esac
AS_ROOT=1; export AS_ROOT; exec "$@"
"""

ID = r"""
if [ "$1" = -u ]; then [ -n "$AS_ROOT" ] && echo 0 || echo 1000; exit; fi
[ -n "$AS_ROOT" ] && echo 'uid=0(root) gid=0(root)' || echo 'uid=1000(lab) gid=1000(lab)'
"""

TEE = r"""
for path; do :; done
case "$path" in
"$BOARD"/sys/*)
    value=$(cat; echo .); value=${value%.}; value=$(echo $value)
    [ -e "$path" ] || { echo "tee: '$path': No such file or directory" >&2; exit 1; }
    [ -n "$AS_ROOT" ] || { echo "tee: '$path': Permission denied" >&2; exit 1; }
    folder=${path%/*}
    case "$path" in
    */scaling_governor) list="$folder/scaling_available_governors";;
    */governor) list="$folder/available_governors";;
    */set_freq) list=; [ "$(cat "$folder/../governor")" = userspace ] || list=none;;
    *) list=;;
    esac
    if [ -n "$list" ]; then
        case " $(cat "$list" 2>/dev/null) " in *" $value "*) ;; *) bad=1;; esac
        [ -e "$BOARD/etc/edgelab/governor_refused" ] && bad=1
    else
        case "$value" in ''|*[!0-9]*) bad=1;; esac
    fi
    [ -z "$bad" ] || { echo "tee: '$path': Invalid argument" >&2; exit 1; }
    echo "$value" >"$path"; echo "$value";;
*) exec /usr/bin/tee "$@";;
esac
"""

DF = r"""
echo 'Filesystem     1024-blocks     Used Available Capacity Mounted on'
cat "$BOARD/etc/edgelab/df"
"""

CAT = r"""
if [ $# = 0 ] && [ -e "$BOARD/etc/edgelab/full" ] && ! [ /dev/fd/1 -ef /dev/null ]; then
    echo 'cat: write error: No space left on device' >&2; exit 1
fi
exec /bin/cat "$@"
"""

DATE = r"""
offset=$(/bin/cat "$BOARD/etc/edgelab/clock_offset")
[ "$offset" = 0 ] && exec /bin/date "$@"
exec /bin/date -d "@$(($(/bin/date +%s) + offset))" "$@"
"""

GPU_LOAD = r"""
mkdir -p "$BOARD/etc/edgelab/busy"; : >"$BOARD/etc/edgelab/busy/$$"
cp -r "$BOARD/etc/edgelab/loaded/." "$BOARD/"
sleep "${1:-1}" &
trap 'kill $!' TERM
wait $!
rm -f "$BOARD/etc/edgelab/busy/$$"
[ -n "$(ls "$BOARD/etc/edgelab/busy")" ] || cp -r "$BOARD/etc/edgelab/idle/." "$BOARD/"
"""

UNAME = r"""
[ "$1" = -m ] && { [ -n "$EDGELAB_REAL_MACHINE" ] || { echo aarch64; exit; }; }
exec /bin/uname "$@"
"""

NVPMODEL = r"""
[ -e "$BOARD/etc/edgelab/hung" ] && exec sleep 3600
status="$BOARD/var/lib/nvpmodel/status"; conf="$BOARD/etc/nvpmodel.conf"
name_of() { sed -n "s/^< POWER_MODEL ID=$1 NAME=\([^ ]*\) >/\1/p" "$conf"; }
current=$(sed 's/pmode:0*\([0-9]\)/\1/' "$status")
case "$1" in
-q) echo "NV Power Mode: $(name_of "$current")"; echo "$current"; exit;;
-p) sed -n 's/^< POWER_MODEL \(.*\) >/POWER_MODEL: \1/p' "$conf"; exit;;
-m) ;;
*) echo "NVPM ERROR: unknown option $1"; exit 255;;
esac
[ -n "$AS_ROOT" ] || { echo 'NVPM ERROR: Error opening /var/lib/nvpmodel/status: 13'; exit 1; }
[ -n "$(name_of "$2")" ] || { echo "NVPM ERROR: Invalid power mode: $2"; exit 255; }
if [ -e "$BOARD/etc/edgelab/mode_write_failed" ]; then
    echo 'NVPM ERROR: Error writing 1300500000 to /sys/devices/platform/17000000.gpu/devfreq_dev/max_freq: 22'
    echo 'NVPM ERROR: failed to set power mode!'; exit 0
fi
if [ -e "$BOARD/etc/edgelab/reboot_prompt" ] && [ "$2" != "$current" ]; then
    echo 'NVPM WARN: Golden image context is already created'
    echo "NVPM WARN: Reboot required for changing to this power mode: $2"
    echo 'NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:'
    IFS= read -r answer
    case "$answer" in
    YES|yes)
        printf 'pmode:%04d\n' "$2" >"$status"; : >"$BOARD/etc/edgelab/rebooted"
        echo 'NVPM WARN: rebooting'; exit;;
    esac
    echo 'NVPM ERROR: bad input!'; echo 'NVPM ERROR: optMask is 1, no request for power mode'; exit 0
fi
printf 'pmode:%04d\n' "$2" >"$status"
gpu=$(sed -n "/POWER_MODEL ID=$2 /,/^$/s/^GPU MAX_FREQ //p" "$conf")
node="$BOARD/sys/class/devfreq/17000000.gpu"
[ "$gpu" = -1 ] && gpu=$(tr ' ' '\n' <"$node/available_frequencies" | sort -n | tail -1)
echo "$gpu" >"$node/max_freq"
"""

JETSON_CLOCKS = r"""
gpu="$BOARD/sys/class/devfreq/17000000.gpu"; cpu="$BOARD/sys/devices/system/cpu/cpufreq"; emc="$BOARD/etc/edgelab/emc"
root() { [ -n "$AS_ROOT" ] || { echo 'Error: Run this script(/usr/bin/jetson_clocks) as a root user'; exit 1; }; }
nodes() {
    for f in "$gpu"/min_freq "$gpu"/max_freq "$cpu"/policy*/scaling_m??_freq "$emc"/override; do
        echo "${f#"$BOARD"}:$(cat "$f")"
    done
}
case "$1" in
--show)
    echo 'SOC family:tegra234  Machine:NVIDIA Jetson AGX Orin Developer Kit'; root
    echo 'Online CPUs: 0-11'; n=0
    for policy in "$cpu"/policy*; do
        row="Online=1 Governor=$(cat "$policy/scaling_governor") MinFreq=$(cat "$policy/scaling_min_freq")"
        row="$row MaxFreq=$(cat "$policy/scaling_max_freq") CurrentFreq=$(cat "$policy/scaling_cur_freq")"
        for c in $(cat "$policy/related_cpus"); do echo "cpu$c:  $row IdleStates: WFI=1 c7=1 "; done
    done
    echo "GPU MinFreq=$(cat "$gpu/min_freq") MaxFreq=$(cat "$gpu/max_freq") CurrentFreq=$(cat "$gpu/cur_freq")"
    echo "Active GPU TPCs: $(cat "$BOARD/etc/edgelab/gpu_units")"
    rate=$(cat "$emc/rate")
    echo "EMC MinFreq=204000000 MaxFreq=3199000000 CurrentFreq=$rate FreqOverride=$(cat "$emc/override")"
    echo 'FAN Dynamic Speed control=nvfancontrol hwmon0_pwm1=72'
    id=$(sed 's/pmode:0*\([0-9]\)/\1/' "$BOARD/var/lib/nvpmodel/status")
    echo "NV Power Mode: $(sed -n "s/^< POWER_MODEL ID=$id NAME=\([^ ]*\) >/\1/p" "$BOARD/etc/nvpmodel.conf")";;
--store) root; nodes >"${2:-$HOME/l4t_dfs.conf}";;
--restore) root
    while IFS=: read -r path value; do echo "$value" >"$BOARD$path"; done <"${2:-$HOME/l4t_dfs.conf}";;
'') root
    cat "$gpu/max_freq" >"$gpu/min_freq"
    for policy in "$cpu"/policy*; do cat "$policy/scaling_max_freq" >"$policy/scaling_min_freq"; done
    echo 1 >"$emc/override";;
*) echo "Error: unknown option $1"; exit 1;;
esac
"""

TEGRASTATS = r"""
temp=$(cat "$BOARD/etc/edgelab/temperature")
printf 'RAM 9050/62841MB (lfb 4x4MB) SWAP 0/31420MB CPU [1%%@2201,0%%@2201] EMC_FREQ 0%% '
echo "GR3D_FREQ 0%@[1300,1300] tj@${temp}C gpu@${temp}C VDD_GPU_SOC 4015mW/4015mW"
"""

DUMPSYS = r"""
case "$1" in
thermalservice|battery) cat "$BOARD/etc/edgelab/$1";;
*) echo "Can't find service: $1"; exit 1;;
esac
"""

GETPROP = r"""
sed -n "s/^$1=//p" "$BOARD/etc/edgelab/properties"
"""

TERMUX_BATTERY = r"""
cat "$BOARD/etc/edgelab/battery.json"
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
JETSON = {
    "usr/sbin/nvpmodel": NVPMODEL,
    "usr/bin/jetson_clocks": JETSON_CLOCKS,
    "usr/bin/tegrastats": TEGRASTATS,
}
PHONE = {
    "system/bin/dumpsys": DUMPSYS,
    "system/bin/getprop": GETPROP,
    "bin/termux-battery-status": TERMUX_BATTERY,
}
"""The tools of each kind of board: path in the tree and script."""
