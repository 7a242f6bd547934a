/** Nothing: then msgpackr, which the queue's client uses, reads texts in JavaScript. */
module.exports = null
