"""Files of wind turbines: OpenFAST, windIO, HAWC2; from their data to arguments of beams."""
