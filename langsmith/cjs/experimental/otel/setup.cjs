"use strict";
module.exports = require("../../../dist/entries/not-there/otel.js");
