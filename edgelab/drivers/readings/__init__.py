"""Pure readers of what boards print: text in, frozen values out, None for what is not known; none ever raises.

nvpmodel: query, change, list, conf, status. jetson_clocks, tegrastats, l4t_release, overcurrent: Jetson.
devfreq, clk_summary, trans_stat, loads: clocks and loads of the kernel. zones: thermal zones. cpu_table:
clusters of a CPU. thermalservice, battery: Android. memory, disk: any board. tool_errors: why a tool failed.
node_lines: turns what `grep -H` prints into nodes by path.
"""
