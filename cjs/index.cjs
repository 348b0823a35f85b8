"use strict";
// What `require("millrace")` loads. Node 20 warns of an experiment where a program requires a module;
// it does not where the call stands inside an installed package, as this one does.
module.exports = require("../dist/main/index.js");
