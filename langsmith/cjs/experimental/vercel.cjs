"use strict";
module.exports = require("../../dist/entries/vercel.js");
