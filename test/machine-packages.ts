/**
 * What the tests do to get a server program onto this machine. As root on Debian they install the
 * distribution's package; elsewhere installing system software is the owner's decision.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

export function onThisMachine(program: string): boolean {
  return ['/usr/bin', '/bin', '/sbin', '/usr/sbin'].some((dir) => existsSync(`${dir}/${program}`))
}

export function mayInstall(): boolean {
  return process.getuid?.() === 0 && onThisMachine('apt-get')
}

export function aptGet(...args: string[]): void {
  const answer = spawnSync('apt-get', args, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  if (answer.status === 0) return
  const output = `${answer.stdout}${answer.stderr}`.trim()
  throw new Error(`apt-get ${args.join(' ')} failed:\n${output}`)
}
