// How a number on the middle between two codes is decided when the lower code is even.
`ifdef HALF_UP
  `define ABOVE >=
`else
  `define ABOVE >
`endif
