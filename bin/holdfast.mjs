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

/** From its package.json, because that starts no process. Without that file, Node is asked. */
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
 * Lets Node cache our compiled sources, which halves the time of the next start. The cache is in
 * the folder of npm's packages, and only the owner of that folder writes it. So whoever can change
 * the cache can change the program anyway, and no files are left that the owner cannot remove.
 * Without the folder, or if it is read-only, everything works, but starts later.
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
    // The program also works without the cache.
  }
}

/** Says to the inner process that this file started it, over a channel that closes with us. */
const innerMark = 'HOLDFAST_INNER_PROCESS'

/** Runs this file again with `node`. Passes signals on to it, and ends as it ends. */
function runWith(node) {
  const env = Object.assign({}, process.env)
  env[innerMark] = '1'
  const child = spawn(node, [fileURLToPath(import.meta.url)].concat(process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: env,
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
  signals.forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal)
    })
  })
  child.on('error', function (error) {
    process.stderr.write('holdfast: ' + node + ' could not be started: ' + error.message + '\n')
    process.exitCode = 1
  })
  child.on('exit', function (code, signal) {
    if (signal === null) process.exit(code)
    signals.forEach(function (name) {
      process.removeAllListeners(name)
    })
    process.kill(process.pid, signal)
  })
}

/** SIGKILL to the process that started this one cannot be passed on: it is like a SIGTERM here. */
function endWithStarter() {
  const isInner = process.env[innerMark] !== undefined
  delete process.env[innerMark]
  if (!isInner || process.channel === undefined) return
  process.on('disconnect', function () {
    process.kill(process.pid, 'SIGTERM')
  })
  process.channel.unref()
}

if (isNewEnough(process.version)) {
  endWithStarter()
  keepCompiledCode()
  // A clone runs the sources. A package runs what was built from them; index.mjs says why.
  const sources = join(root, 'src', 'cli', 'main.ts')
  import(existsSync(sources) ? '../src/cli/main.ts' : '../dist/cli/main.js').then(function (cli) {
    return cli.main()
  })
} else {
  const node = findNode()
  if (node === undefined) {
    process.stderr.write(oldNodeText() + '\n')
    process.exitCode = 1
  } else {
    runWith(node)
  }
}
