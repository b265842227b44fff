"""The flows: what runs when, with retries and reports. All work is done by `brain.services`.

catalog     which flows there are and their schedules; costs nothing to import
flows       the Prefect flows and tasks
runtime     Prefect for one home: settings, server, one run
server      the Prefect server as a child process that only this machine's own pages can reach
serving     schedules and UI, until told to stop
records     the last run of each flow, as a small file in the home
progress    where running tasks say how far they are
"""
