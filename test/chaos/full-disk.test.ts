/**
 * Goal: on a disk that is really full the store keeps what it said it kept, refuses the rest with
 * `store_full`, and goes on when there is room.
 * Method: a disk of a few megabytes in memory, mounted in a namespace of its own that ends with the
 * process. Where that is not allowed, the driver's own test with a page limit has to do.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const program = fileURLToPath(new URL('full-disk-program.ts', import.meta.url))

function onTinyDisk(...command: string[]): ReturnType<typeof spawnSync> {
  const mount = 'mount -t tmpfs -o size=4m none /mnt && exec "$@"'
  return spawnSync('unshare', ['--mount', 'sh', '-c', mount, 'sh', ...command], {
    encoding: 'utf8',
  })
}

const canMount = onTinyDisk('true').status === 0

it.runIf(canMount)('a full disk loses nothing that was accepted', () => {
  const { stdout, stderr } = onTinyDisk(process.execPath, program, '/mnt')
  expect(stderr).toBe('')
  const told = JSON.parse(String(stdout)) as Record<'kept' | 'stored' | 'after', number>
  expect(told).toMatchObject({ codes: ['store_full'] })
  expect(told.kept).toBeGreaterThan(10)
  expect(told.stored).toBe(told.kept)
  expect(told.after).toBe(told.kept + 1)
})
