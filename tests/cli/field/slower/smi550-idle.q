
==============NVSMI LOG==============

Timestamp                                 : Wed Jul  2 10:00:00 2025
Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU Link Info
        PCIe Generation
            Max                           : 4
            Current                       : 1
        Link Width
            Max                           : 16x
            Current                       : 16x
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
        Display Clock Setting             : Not Active
    Utilization
        Gpu                               : 0 %
        Memory                            : 0 %
    GPU Power Readings
        Power Draw                        : 60.12 W
        Current Power Limit               : 400.00 W
        Requested Power Limit             : 400.00 W
        Default Power Limit               : 400.00 W
        Min Power Limit                   : 100.00 W
        Max Power Limit                   : 400.00 W
    Clocks
        Graphics                          : 210 MHz
        SM                                : 210 MHz
        Memory                            : 1593 MHz
    Applications Clocks
        Graphics                          : 1410 MHz
        Memory                            : 1593 MHz
    Default Applications Clocks
        Graphics                          : 1410 MHz
        Memory                            : 1593 MHz
    Max Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
        Memory                            : 1593 MHz
GPU 00000000:1C:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU Link Info
        PCIe Generation
            Max                           : 4
            Current                       : 1
        Link Width
            Max                           : 16x
            Current                       : 16x
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
        Display Clock Setting             : Not Active
    Utilization
        Gpu                               : 0 %
        Memory                            : 0 %
    GPU Power Readings
        Power Draw                        : 60.12 W
        Current Power Limit               : 400.00 W
        Requested Power Limit             : 400.00 W
        Default Power Limit               : 400.00 W
        Min Power Limit                   : 100.00 W
        Max Power Limit                   : 400.00 W
    Clocks
        Graphics                          : 210 MHz
        SM                                : 210 MHz
        Memory                            : 1593 MHz
    Applications Clocks
        Graphics                          : 1410 MHz
        Memory                            : 1593 MHz
    Default Applications Clocks
        Graphics                          : 1410 MHz
        Memory                            : 1593 MHz
    Max Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
        Memory                            : 1593 MHz
