"use strict";
module.exports = require("../dist/entries/schemas.js");
