// What idma_float_pkg.sv of PULP iDMA asks of another package, which has much more in it: for `mxcast check-rtl`, before
// idma_float_pkg.sv and idma_lanes.sv, which is a block of 32 lanes of its dequantizer.
// SPDX-License-Identifier: Apache-2.0
package idma_pkg;
  localparam int unsigned MxBlockElems = 32;
  localparam int unsigned MxBlockBytes = 33;
  localparam int unsigned MxFp16BlockBytes = 64;
  localparam int unsigned MxFp32BlockBytes = 128;
endpackage
