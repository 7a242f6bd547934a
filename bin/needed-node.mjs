// Which Node Holdfast needs, and the message where it is older. Runs on any Node with modules,
// so that an old one gets a clear message instead of the name of something it does not know;
// therefore plain JavaScript without anything recent.
const majorNeeded = 24

export function isNewEnough(version) {
  return Number(version.replace(/^v/, '').split('.')[0]) >= majorNeeded
}

export function oldNodeText() {
  return (
    'Holdfast needs Node ' +
    majorNeeded +
    ' or newer, but this is ' +
    process.version +
    ' (' +
    process.execPath +
    ').\n  Install it from https://nodejs.org/download, or with nvm: nvm install ' +
    majorNeeded +
    '\n  In a clone of Holdfast, npm ci installs it.'
  )
}

/** For the library, before it loads anything that an old Node does not have. */
export function refuseOldNode() {
  if (!isNewEnough(process.version)) throw new Error(oldNodeText())
}
