#!/usr/bin/env node
// Starts the command line with a Node that can run it. This file itself runs on any Node with
// modules, so that an old one gets a clear message instead of a syntax error; therefore plain
// JavaScript without anything recent.
import { spawn, spawnSync } from 'child_process'
import { existsSync } from 'fs'
import { dirname, join } from 'path'
import { fileURLToPath } from 'url'

const majorNeeded = 24
const root = dirname(dirname(fileURLToPath(import.meta.url)))

function majorOf(version) {
  return Number(version.replace(/^v/, '').split('.')[0])
}

/** The Node that npm installed beside the package, or beside the package that depends on it. */
function findNode() {
  const places = [join(root, 'node_modules', '.bin', 'node'), join(root, '..', '.bin', 'node')]
  return places.find(function (path) {
    if (!existsSync(path)) return false
    const answer = spawnSync(path, ['--version'], { encoding: 'utf8' })
    return answer.status === 0 && majorOf(answer.stdout) >= majorNeeded
  })
}

/** Hands over to `node`; signals go on to it and its end becomes ours. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url)].concat(process.argv.slice(2)), {
    stdio: 'inherit',
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
  signals.forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal)
    })
  })
  child.on('error', function (error) {
    process.stderr.write('holdfast: ' + node + ' could not be started: ' + error.message + '\n')
    process.exit(1)
  })
  child.on('exit', function (code, signal) {
    if (signal === null) process.exit(code)
    signals.forEach(function (name) {
      process.removeAllListeners(name)
    })
    process.kill(process.pid, signal)
  })
}

if (majorOf(process.version) >= majorNeeded) {
  // The sources in a clone, what was built from them in a package; index.mjs says why.
  const sources = join(root, 'src', 'cli', 'main.ts')
  import(existsSync(sources) ? '../src/cli/main.ts' : '../dist/cli/main.js').then(function (cli) {
    return cli.main()
  })
} else {
  const node = findNode()
  if (node === undefined) {
    process.stderr.write(
      'holdfast: Node ' +
        majorNeeded +
        ' or newer is needed and this is ' +
        process.version +
        '.\n' +
        '  In a clone of Holdfast, npm ci installs one; else see https://nodejs.org/download\n',
    )
    process.exit(1)
  }
  runWith(node)
}
