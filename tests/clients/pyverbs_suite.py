#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Run rdma-core's own tests of pyverbs, each in a process of its own.

A test that hangs is killed, and is one result among the others. With
--against, fails if a test passed there and does not pass here.
"""

import argparse
import importlib
import ipaddress
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import unittest

RESULTS = {0: 'pass', 77: 'skip'}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('tests', type=pathlib.Path,
                        help='the folder "tests" of the sources of rdma-core')
    parser.add_argument('device')
    parser.add_argument('gid', type=int, help='its GID to use, with an IPv4 address')
    parser.add_argument('results', type=pathlib.Path,
                        help='file to write: RESULT TEST REASON')
    parser.add_argument('--against', type=pathlib.Path,
                        help='such a file, of a run on stock channels')
    parser.add_argument('--timeout', type=float, default=60,
                        help='the longest that a test may take, in seconds')
    parser.add_argument('--only', default='', help='part of the tests\' names')
    return parser.parse_args()


def load(args):
    """Import the suite, and return all its tests."""
    # "tests" is a package whose parts also import their neighbours by name.
    sys.path[:0] = [str(args.tests), str(args.tests.parent)]
    import args_parser  # pylint: disable=import-outside-toplevel
    sys.argv[1:] = ['--dev', args.device, '--port', '1']
    args_parser.parser.parse_args()
    base = importlib.import_module('tests.base')
    find_address(base, args)
    found = []
    for file in sorted(args.tests.glob('test_*.py')):
        # For hardware that is not here.
        if file.stem.startswith(('test_mlx5', 'test_efa', 'test_cuda')):
            continue
        try:
            module = importlib.import_module(f'tests.{file.stem}')
        except Exception as reason:  # pylint: disable=broad-except
            print(f'{file.name}: cannot be imported: {reason}')
            continue
        flatten(unittest.defaultTestLoader.loadTestsFromModule(module), found)
    return [test for test in found if args.only in test.id()]


def flatten(suite, found):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            flatten(test, found)
        else:
            found.append(test)


def find_address(base, args):
    """Tell the suite the device's addresses.

    It looks for the network interface of a PCI device, which a device that is
    made of software alone does not have, and would skip all of librdmacm. And
    of the GIDs, it takes the first one that it finds.
    """
    port = pathlib.Path('/sys/class/infiniband', args.device, 'ports/1')
    netdev = (port / 'gid_attrs/ndevs' / str(args.gid)).read_text().strip()
    gid = ipaddress.IPv6Address((port / 'gids' / str(args.gid)).read_text().strip())
    link = json.loads(subprocess.check_output(['ip', '-j', 'link', 'show', netdev]))
    choice = [args.device, 1, args.gid, str(gid.ipv4_mapped), link[0]['address']]

    def choose(self, *_):
        self.args.append(choice)

    base.RDMATestCase._get_ip_mac = choose  # pylint: disable=protected-access


def child(test, output):
    """Run one test; the exit status is its result."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    result = unittest.TestResult()
    # In a suite, for the fixtures of its class and its module.
    unittest.TestSuite([test]).run(result)
    for _, reason in result.errors + result.failures:
        print(reason)
    for _, reason in result.skipped:
        print(reason)
    sys.stdout.flush()
    if result.errors or result.failures or result.unexpectedSuccesses:
        return 1
    return 77 if result.skipped or not result.testsRun else 0


def run(test, timeout):
    """Return the result of a test, and the last line that it printed."""
    output = os.memfd_create('output')
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = child(test, output)
        finally:
            os._exit(status)  # pylint: disable=protected-access
    fd = os.pidfd_open(pid)
    ended, _, _ = select.select([fd], [], [], timeout)
    os.close(fd)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with os.fdopen(output, errors='replace') as file:
        file.seek(0)
        lines = [line.strip() for line in file if line.strip()]
    last = lines[-1] if lines else ''
    if not ended:
        return 'hang', last
    return RESULTS.get(status, 'fail'), last


def read(file):
    """The results that an earlier run has written, by test."""
    with open(file, encoding='utf-8') as lines:
        return {line.split()[1]: line.split()[0] for line in lines}


def main():
    args = arguments()
    tests = load(args)
    results = {}
    with open(args.results, 'w', encoding='utf-8') as file:
        for test in tests:
            result, reason = run(test, args.timeout)
            results[test.id()] = result
            print(f'{result} {test.id()} {reason}', file=file, flush=True)
    counts = {what: list(results.values()).count(what)
              for what in ('pass', 'fail', 'hang', 'skip')}
    print(', '.join(f'{count} {what}' for what, count in counts.items()))
    if not counts['pass']:
        print('no test has passed')
        return 1
    if not args.against:
        return 0
    worse = [test for test, result in read(args.against).items()
             if result == 'pass' and results.get(test) != 'pass']
    for test in worse:
        print(f'worse than on stock channels: {test}: {results.get(test)}')
    return 1 if worse else 0


if __name__ == '__main__':
    sys.exit(main())
