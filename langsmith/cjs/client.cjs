"use strict";
module.exports = require("../dist/entries/client.js");
