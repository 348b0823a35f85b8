"use strict";
module.exports = require("../../../dist/entries/unsupported/otel.js");
