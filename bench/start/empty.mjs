// A program that records nothing. Its figures are those of Node.
import { markDelivered } from "./measured.mjs";

markDelivered();
