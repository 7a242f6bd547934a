/**
 * Goal: on a full disk the store keeps every write that it confirmed, refuses the others with
 * `store_full`, and continues when there is space again.
 * Method: a disk of a few megabytes in memory, mounted in its own namespace that ends with the
 * process. Only Linux has these; elsewhere the test is skipped and says so.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const program = fileURLToPath(new URL('full-disk-program.ts', import.meta.url))

/** Root may mount in a namespace; anybody else gets one in which they are root. */
const namespaces = [['--mount'], ['--user', '--map-root-user', '--mount']]

function onTinyDisk(namespace: readonly string[], ...command: readonly string[]) {
  const mount = 'mount -t tmpfs -o size=4m none /mnt && exec "$@"'
  const args = [...namespace, 'sh', '-c', mount, 'sh', ...command]
  return spawnSync('unshare', args, { encoding: 'utf8' })
}

it('a full disk loses no write that was confirmed', (context) => {
  if (process.platform !== 'linux') context.skip('a disk of its own needs Linux')
  const namespace = namespaces.find((one) => onTinyDisk(one, 'true').status === 0)
  if (namespace === undefined) {
    throw new Error('nothing can be mounted here: run as root, or allow user namespaces')
  }
  const { stdout, stderr } = onTinyDisk(namespace, process.execPath, program, '/mnt')
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as Record<'kept' | 'stored' | 'after', number>
  expect(report).toMatchObject({ codes: ['store_full'] })
  expect(report.kept).toBeGreaterThan(10)
  expect(report.stored).toBe(report.kept)
  expect(report.after).toBe(report.kept + 1)
})
