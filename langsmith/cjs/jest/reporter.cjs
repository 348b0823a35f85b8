"use strict";
module.exports = require("../../dist/entries/unsupported/jest.js");
