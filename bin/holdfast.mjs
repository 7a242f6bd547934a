#!/usr/bin/env node
// Starts the command line with a Node that can run it. This file itself runs on any Node with
// modules, so that an old one gets a clear message instead of a syntax error; therefore plain
// JavaScript without anything recent.
import { spawn, spawnSync } from 'child_process'
import { existsSync, readFileSync, realpathSync, statSync } from 'fs'
import module from 'module'
import { dirname, join } from 'path'
import { fileURLToPath } from 'url'
import { isNewEnough, oldNodeText } from './needed-node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The Node that npm installed beside the package, or beside the package that depends on it. */
function findNode() {
  const places = [join(root, 'node_modules', '.bin', 'node'), join(root, '..', '.bin', 'node')]
  return places.find(function (path) {
    return existsSync(path) && isNewEnough(versionOf(path))
  })
}

/** As its package says, which spares a process; one that is in no package is asked. */
function versionOf(node) {
  try {
    const manifest = join(dirname(dirname(realpathSync(node))), 'package.json')
    return JSON.parse(readFileSync(manifest, 'utf8')).version
  } catch {
    const answer = spawnSync(node, ['--version'], { encoding: 'utf8' })
    return answer.status === 0 ? answer.stdout : ''
  }
}

/**
 * Node keeps what it made of our sources, so that the next start need not make it again: it halves
 * the time. It is kept where npm keeps packages and only for their owner: whoever can write there
 * can change the program itself, and nobody leaves files that the owner cannot remove. Without the
 * folder, or where it cannot be written, everything works and starts a little later.
 */
function keepCompiledCode() {
  if (typeof module.enableCompileCache !== 'function') return
  const packages = [join(root, 'node_modules'), dirname(root)].find(function (path) {
    return /node_modules$/.test(path) && existsSync(path)
  })
  if (packages === undefined) return
  try {
    if (process.getuid && statSync(packages).uid !== process.getuid()) return
    module.enableCompileCache(join(packages, '.cache', 'holdfast'))
  } catch {
    // A start never fails for this.
  }
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

if (isNewEnough(process.version)) {
  keepCompiledCode()
  // The sources in a clone, what was built from them in a package; index.mjs says why.
  const sources = join(root, 'src', 'cli', 'main.ts')
  import(existsSync(sources) ? '../src/cli/main.ts' : '../dist/cli/main.js').then(function (cli) {
    return cli.main()
  })
} else {
  const node = findNode()
  if (node === undefined) {
    process.stderr.write(oldNodeText() + '\n')
    process.exit(1)
  }
  runWith(node)
}
