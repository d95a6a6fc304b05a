
==============NVSMI LOG==============

Timestamp                                 : Tue Jul  1 10:00:00 2025
Driver Version                            : 525.105.17
CUDA Version                              : 12.0

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU Link Info
        PCIe Generation
            Max                           : 4
            Current                       : 4
        Link Width
            Max                           : 16x
            Current                       : 16x
    Performance State                     : P0
    Clocks Throttle Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
        Display Clock Setting             : Not Active
    Utilization
        Gpu                               : 98 %
        Memory                            : 49 %
    Power Readings
        Power Management                  : Supported
        Power Draw                        : 395.12 W
        Power Limit                       : 400.00 W
        Default Power Limit               : 400.00 W
        Enforced Power Limit              : 400.00 W
        Min Power Limit                   : 100.00 W
        Max Power Limit                   : 400.00 W
    Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
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
            Current                       : 4
        Link Width
            Max                           : 16x
            Current                       : 16x
    Performance State                     : P0
    Clocks Throttle Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
        Display Clock Setting             : Not Active
    Utilization
        Gpu                               : 98 %
        Memory                            : 49 %
    Power Readings
        Power Management                  : Supported
        Power Draw                        : 395.12 W
        Power Limit                       : 400.00 W
        Default Power Limit               : 400.00 W
        Enforced Power Limit              : 400.00 W
        Min Power Limit                   : 100.00 W
        Max Power Limit                   : 400.00 W
    Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
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
