"""Stand-ins for NVIDIA's tools, in the formats of JetPack 6: nvpmodel, jetson_clocks, tegrastats."""

from __future__ import annotations

# A change of the mask of GPU units wants a reboot, because the GPU's context exists already.
NVPMODEL = r"""
[ -e "$BOARD/etc/edgelab/hung" ] && exec sleep 3600
status="$BOARD/var/lib/nvpmodel/status"; conf="$BOARD/etc/nvpmodel.conf"
gpu="$BOARD/sys/class/devfreq/17000000.gpu"; cpu="$BOARD/sys/devices/system/cpu/cpufreq"
mask="$BOARD/sys/devices/platform/gpu.0/tpc_pg_mask"
name_of() { sed -n "s/^< POWER_MODEL ID=$1 NAME=\([^ ]*\) >/\1/p" "$conf"; }
value_of() { sed -n "/POWER_MODEL ID=$1 /,/^$/s/^$2 //p" "$conf"; }
line() { IFS= read -r one <"$1" && echo "$one"; }
put() { echo "$1" >"$BOARD/.nvpmodel$$" && mv -f "$BOARD/.nvpmodel$$" "$2"; }
config() { echo 'NVPM VERB: Config file: /etc/nvpmodel.conf'; echo 'NVPM VERB: parsing done for /etc/nvpmodel.conf'; }
param() { echo "NVPM VERB: PARAM $1: PATH ${2#"$BOARD"}: REAL_VAL: $(line "$2") CONF_VAL: $3"; }
current=$(sed 's/pmode:0*\([0-9]\)/\1/; s/ .*//' "$status")
case "$1 $2" in
'-q --verbose') config
    echo "NVPM VERB: Current mode: NV Power Mode: $(name_of "$current")"; echo "$current"
    param 'TPC_POWER_GATING: ARG TPC_PG_MASK' "$mask" "$(value_of "$current" 'TPC_POWER_GATING TPC_PG_MASK')"
    node="$BOARD/sys/devices/platform/17000000.gpu/devfreq_dev"
    param 'GPU: ARG MIN_FREQ' "$node/min_freq" "$(value_of "$current" 'GPU MIN_FREQ')"
    param 'GPU: ARG MAX_FREQ' "$node/max_freq" "$(value_of "$current" 'GPU MAX_FREQ')"; exit;;
'-q '*) echo "NV Power Mode: $(name_of "$current")"; echo "$current"
    [ -n "$AS_ROOT" ] || {
        emc=/sys/kernel/nvpmodel_clk_cap/emc
        echo "NVPM ERROR: Error opening $emc: 13"
        echo "NVPM ERROR: failed to read PARAM EMC: ARG MAX_FREQ: PATH $emc"
    }
    exit;;
'-p --verbose') config; echo 'succeed to parse file /etc/nvpmodel.conf.'
    default=$(sed -n 's/^< PM_CONFIG DEFAULT=\([0-9]*\) >/\1/p' "$conf")
    echo "NVPM VERB: PM_CONFIG: DEFAULT=$(name_of "$default")($default)"
    sed -n 's/^< POWER_MODEL \(.*\) >/POWER_MODEL: \1/; s/^< \(PARAM .*\) >/\1/; /^< /!s/^/NVPM VERB: /p' "$conf"
    exit;;
'-m '?*) ;;
*) echo 'NVPM ERROR: bad input!'; exit 255;;
esac
[ -n "$AS_ROOT" ] || {
    echo 'NVPM ERROR: Error opening /var/lib/nvpmodel/status: 13'; echo 'NVPM ERROR: failed to set power mode!'
    exit 255
}
[ -n "$(name_of "$2")" ] || { echo "NVPM ERROR: invalid power model: $2"; exit 255; }
none="NVPM ERROR: optMask is 1, no request for power mode"
units=$(value_of "$2" 'TPC_POWER_GATING TPC_PG_MASK')
if [ -e "$BOARD/etc/edgelab/mode_write_failed" ]; then
    node=/sys/devices/platform/17000000.gpu/devfreq_dev/max_freq; cap=$(value_of "$2" 'GPU MAX_FREQ')
    [ "$cap" != -1 ] || cap=2147483647
    echo "NVPM ERROR: Error writing $cap to $node: 22"
    echo "NVPM ERROR: failed to write PARAM GPU: ARG MAX_FREQ: PATH $node VAL: $cap"
    echo 'NVPM ERROR: failed to set power mode!'; echo "$none"; exit 0
fi
asks=; [ "$units" = "$(line "$mask")" ] || asks=1
[ -e "$BOARD/etc/edgelab/reboot_prompt" ] && [ "$2" != "$current" ] && asks=1
if [ -n "$asks" ]; then
    echo 'NVPM WARN: Golden image context is already created'
    echo "NVPM WARN: Reboot required for changing to this power mode: $2"
    echo 'NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:'
    IFS= read -r answer
    case "$answer" in
    YES|yes)
        put "$(printf 'pmode:%04d' "$2")" "$status"; : >"$BOARD/etc/edgelab/events/reboot"
        echo 'NVPM WARN: rebooting'; exit;;
    esac
    echo 'NVPM ERROR: bad input!'; echo "$none"; exit 0
fi
cap=$(value_of "$2" 'GPU MAX_FREQ')
[ "$cap" != -1 ] || cap=$(tr ' ' '\n' <"$gpu/available_frequencies" | sort -n | tail -1)
tr ' ' '\n' <"$gpu/available_frequencies" | grep . | sort -n | head -1 >"$BOARD/.low$$"
put "$(line "$BOARD/.low$$")" "$gpu/min_freq"; rm -f "$BOARD/.low$$"; put "$cap" "$gpu/max_freq"
for cluster in 0 1 2; do
    folder="$cpu/policy$((4 * cluster))"; cap=$(value_of "$2" "CPU_A78_$cluster MAX_FREQ")
    [ "$cap" != -1 ] || cap=$(line "$folder/cpuinfo_max_freq")
    put "$(value_of "$2" "CPU_A78_$cluster MIN_FREQ")" "$folder/scaling_min_freq"
    put "$cap" "$folder/scaling_max_freq"
done
put "$(printf 'pmode:%04d' "$2")" "$status"
"""

JETSON_CLOCKS = r"""
gpu="$BOARD/sys/class/devfreq/17000000.gpu"; cpu="$BOARD/sys/devices/system/cpu/cpufreq"
emc="$BOARD/sys/kernel/debug/bpmp/debug/clk/emc"; idle="$BOARD/etc/edgelab/idle_states"
root() { [ -n "$AS_ROOT" ] || { echo 'Error: Run this script(/usr/bin/jetson_clocks) as a root user'; exit 1; }; }
line() { IFS= read -r one <"$1" && echo "$one"; }
put() { echo "$1" >"$BOARD/.clocks$$" && mv -f "$BOARD/.clocks$$" "$2"; }
nodes() {
    for f in "$gpu"/min_freq "$gpu"/max_freq "$cpu"/policy*/scaling_m??_freq "$emc"/mrq_rate_locked \
        "$emc"/rate "$idle"; do
        echo "${f#"$BOARD"}:$(line "$f")"
    done
}
case "$1" in
--show)
    echo 'SOC family:tegra234  Machine:NVIDIA Jetson AGX Orin Developer Kit'; root
    echo 'Online CPUs: 0-11'; states=$(line "$idle")
    for first in 0 4 8; do
        policy="$cpu/policy$first"
        row="Online=1 Governor=$(line "$policy/scaling_governor") MinFreq=$(line "$policy/scaling_min_freq")"
        row="$row MaxFreq=$(line "$policy/scaling_max_freq") CurrentFreq=$(line "$policy/scaling_cur_freq")"
        for c in $(line "$policy/related_cpus"); do
            printf '%-6s %s IdleStates: WFI=%s c7=%s \n' "cpu$c:" "$row" "$states" "$states"
        done
    done
    echo "GPU MinFreq=$(line "$gpu/min_freq") MaxFreq=$(line "$gpu/max_freq") CurrentFreq=$(line "$gpu/cur_freq")"
    echo "Active GPU TPCs: $(line "$BOARD/etc/edgelab/gpu_units")"
    row="EMC MinFreq=$(line "$emc/min_rate") MaxFreq=$(line "$emc/max_rate") CurrentFreq=$(line "$emc/rate")"
    echo "$row FreqOverride=$(line "$emc/mrq_rate_locked")"
    echo 'DLA0_CORE:   Online=1 MinFreq=0 MaxFreq=1600000000 CurrentFreq=1600000000'
    echo 'DLA0_FALCON: Online=1 MinFreq=0 MaxFreq=844800000 CurrentFreq=844800000'
    echo "FAN Dynamic Speed Control=nvfancontrol hwmon0_pwm1=$(line "$BOARD/sys/class/hwmon/hwmon0/pwm1")"
    id=$(sed 's/pmode:0*\([0-9]\)/\1/; s/ .*//' "$BOARD/var/lib/nvpmodel/status")
    echo "NV Power Mode: $(sed -n "s/^< POWER_MODEL ID=$id NAME=\([^ ]*\) >/\1/p" "$BOARD/etc/nvpmodel.conf")";;
--store) root
    if [ -e "$BOARD/etc/edgelab/full" ]; then
        : >"${2:-$HOME/l4t_dfs.conf}"; echo 'echo: write error: No space left on device' >&2; exit 1
    fi
    nodes >"${2:-$HOME/l4t_dfs.conf}";;
--restore) root
    [ -e "${2:-$HOME/l4t_dfs.conf}" ] || { echo "Error: File ${2:-$HOME/l4t_dfs.conf} not found!"; exit 1; }
    while IFS=: read -r path value; do put "$value" "$BOARD$path"; done <"${2:-$HOME/l4t_dfs.conf}";;
'') root
    put "$(line "$gpu/max_freq")" "$gpu/min_freq"
    for policy in "$cpu"/policy*; do put "$(line "$policy/scaling_max_freq")" "$policy/scaling_min_freq"; done
    put 1 "$emc/mrq_rate_locked"; put "$(line "$emc/max_rate")" "$emc/rate"; put 0 "$idle";;
*) echo "Error: unknown option $1"; exit 1;;
esac
"""

# Without root it shows neither the memory's clock nor the GPU's.
TEGRASTATS = r"""
every=1
while [ $# -gt 0 ]; do case "$1" in
    --interval) every=$(printf '%s.%03d' $(($2 / 1000)) $(($2 % 1000))); shift 2;; *) shift;;
esac; done
line() { IFS= read -r one <"$1" && echo "$one"; }
celsius() {
    for zone in "$BOARD"/sys/class/thermal/thermal_zone*; do
        [ "$(line "$zone/type")" != "$1-thermal" ] || { m=$(line "$zone/temp"); break; }
    done
    printf '%s@%d.%03dC' "$1" $((m / 1000)) $((m % 1000))
}
while :; do
    mhz=$(($(line "$BOARD/sys/class/devfreq/17000000.gpu/cur_freq") / 1000000))
    load=$(($(line "$BOARD/sys/devices/platform/gpu.0/load") / 10))
    cores=; for p in 0 4 8; do
        c="0%@$(($(line "$BOARD/sys/devices/system/cpu/cpufreq/policy$p/scaling_cur_freq") / 1000))"
        cores="$cores,$c,$c,$c,$c"
    done
    emc=; gpu="GR3D_FREQ $load%"
    if [ -n "$AS_ROOT" ]; then
        emc=" EMC_FREQ 0%@$(($(line "$BOARD/sys/kernel/debug/bpmp/debug/clk/emc/rate") / 1000000))"
        gpu="$gpu@[$mhz,$mhz]"
    fi
    rest='NVENC off NVDEC off NVJPG off NVJPG1 off VIC off OFA off NVDLA0 off NVDLA1 off PVA0_FREQ off APE 174'
    rails='VDD_GPU_SOC 4015mW/4015mW VDD_CPU_CV 991mW/1011mW VIN_SYS_5V0 4818mW/4820mW'
    echo "$(date '+%m-%d-%Y %H:%M:%S') RAM 9050/62841MB (lfb 77x4MB) SWAP 0/31420MB (cached 0MB)" \
        "CPU [${cores#,}]$emc $gpu $rest $(celsius cpu) $(celsius soc0) $(celsius gpu) $(celsius tj) $rails"
    sleep "$every"
done
"""

JETSON = {
    "usr/sbin/nvpmodel": NVPMODEL,
    "usr/bin/jetson_clocks": JETSON_CLOCKS,
    "usr/bin/tegrastats": TEGRASTATS,
}
"""The tools by their path in the tree."""
