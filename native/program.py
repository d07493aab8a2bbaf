"""A program that converts blocks from its input, a test with blocks and right results, and a makefile for both."""

from __future__ import annotations

from collections.abc import Iterator

from ..hdl import HardwareConfig
from ..sim.operations import drawn, golden, of
from ..sim.transactions import Transactions
from ..spec import Role
from .configured import sides, word_counts

MAIN = """\
/* Convert blocks from standard input: one block after another, each as {inputs} words in hexadecimal ({given}).
   A line of {results} words ({made}) is printed for each. Compile it by make, or by
   cc -std=c99 -O2 main.c -o {name}

   SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>

#include "{name}.h"

int main(void) {{
    uint64_t in[{upper}_INPUTS], out[{upper}_RESULTS];
    int count = 0, found;
    while ((found = scanf("%" SCNx64, &in[count])) == 1) {{
        if (++count < {upper}_INPUTS) continue;
        count = 0;
        {name}_words(in, out);
        for (int i = 0; i < {upper}_RESULTS; i++) printf(i ? " %" PRIx64 : "%" PRIx64, out[i]);
        printf("\\n");
    }}
    if (found != EOF || count != 0) {{
        fprintf(stderr, "{name}: a block has {inputs} words in hexadecimal\\n");
        return 1;
    }}
    return 0;
}}
"""

TEST = """\
/* {blocks} blocks with their results by the golden model of mxcast. The last line is PASS or FAIL.
   Run it by make check.

   SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "{name}.h"

enum {{ BLOCKS = {blocks} }};

static const uint64_t given[BLOCKS][{upper}_INPUTS] = {{
{given_rows}
}};

static const uint64_t expected[BLOCKS][{upper}_RESULTS] = {{
{expected_rows}
}};

int main(void) {{
    int differ = 0;
    for (int block = 0; block < BLOCKS; block++) {{
        uint64_t found[{upper}_RESULTS];
        {name}_words(given[block], found);
        if (memcmp(found, expected[block], sizeof found) == 0) continue;
        printf("block %d differs\\n", block);
        differ++;
    }}
    if (differ) printf("FAIL: %d of %d blocks\\n", differ, BLOCKS);
    else printf("PASS: %d blocks\\n", BLOCKS);
    return differ != 0;
}}
"""

MAKEFILE = """\
# The program {name} and its test, in C99. Both also compile as C++17.
CFLAGS ?= -O2
override CFLAGS += -std=c99

{name}: main.c {name}.h mxcast.h
\t$(CC) $(CFLAGS) main.c -o $@

check: test.c {name}.h mxcast.h
\t$(CC) $(CFLAGS) test.c -o {name}_test
\t./{name}_test

.PHONY: check
"""


def texts(config: HardwareConfig, name: str, seed: int = 0) -> dict[str, str]:
    """The texts of ``main.c``, ``test.c`` and ``Makefile``."""
    operation = config.numerics
    entering, leaving = sides(operation)
    inputs, results = word_counts(operation)
    given = drawn(operation, of(operation).sample(seed), seed)
    words = {
        "name": name,
        "upper": name.upper(),
        "inputs": str(inputs),
        "results": str(results),
        "given": ", ".join(port.name for port in entering),
        "made": ", ".join(port.name for port in leaving),
        "blocks": str(len(given)),
        "given_rows": ",\n".join(_rows(given, [port.role for port in entering])),
        "expected_rows": ",\n".join(_rows(golden(operation, given), [port.role for port in leaving])),
    }
    return {file: text.format_map(words) for file, text in (("main.c", MAIN), ("test.c", TEST), ("Makefile", MAKEFILE))}


def _rows(side: Transactions, roles: list[Role]) -> Iterator[str]:
    """The words of each block in C."""
    for row in range(len(side)):
        words = (word for role in roles for word in side[role][row].tolist())
        yield f"    {{{', '.join(f'0x{word:x}' if word > 9 else str(word) for word in words)}}}"
