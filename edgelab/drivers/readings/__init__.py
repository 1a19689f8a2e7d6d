"""Pure readers of what boards print: text in, frozen values out, None for what is not known; none ever raises.

Bytes of a board are decoded with `errors="replace"` by the caller. Readers of nodes take a mapping from path to
text, which a probe brings as it is and `node_lines.read_node_lines` makes of what `grep -H` prints.

Jetson
    nvpmodel        read_nvpmodel_query, read_nvpmodel_change, read_nvpmodel_conf, read_nvpmodel_status
    jetson_clocks   read_jetson_clocks -> JetsonClocks (locked, session_ok)
    tegrastats      read_tegrastats
    l4t_release     read_l4t_release
    overcurrent     read_overcurrent(nodes), growth, read_overcurrent_pair
Clocks and loads of the kernel
    devfreq         read_devfreq(nodes) -> Devfreq (locked_max)
    cpu_table       read_cpu_table(nodes) -> CpuTable (prime, big_cpus), mask_of
    clk_summary     gpu_rate_hz, real_clock_verdict
    trans_stat      read_trans_stat
    loads           read_rated_load, read_permille_load, read_npu_load
    zones           read_zones(nodes) -> Zones (hottest)
Android
    thermalservice  read_thermalservice -> ThermalService (verdict)
    battery         read_battery
Any board
    proc            read_load_average, read_cpu_ticks, read_uptime_s, read_boot_id, read_tree_strings,
                    read_system_name, read_epoch_s
    memory          read_meminfo, read_free
    disk            read_df
    tool_errors     read_tool_error
    node_lines      read_node_lines, whole, decimal, all_known
"""
