"use strict";
module.exports = require("../dist/entries/langchain.js");
