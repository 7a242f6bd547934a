// Which Node Holdfast needs, and the message for an older one. This file runs on any Node with
// modules, so that an old one prints a clear message instead of an error about an unknown name.
// So it is plain JavaScript without anything recent.
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
    '\n  Or only for your project, in its folder: npm install -D node@' +
    majorNeeded +
    '\n  Then npx node and npx holdfast use it. In a clone of Holdfast, npm ci installs it.'
  )
}

/** For the library, before it loads anything that an old Node does not have. */
export function refuseOldNode() {
  if (!isNewEnough(process.version)) throw new Error(oldNodeText())
}
