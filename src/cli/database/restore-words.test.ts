// Goal: a person who restored a database reads what Holdfast checks on GitHub, and until when.
import { expect, test } from 'vitest'
import type { RestoreNote } from '../../store/outbox-store.ts'
import { notedText, restoredLine } from './restore-words.ts'

const at = Date.UTC(2026, 0, 31, 12)
const note: RestoreNote = {
  restoredAt: at,
  copiedAt: at - 3_600_000,
  open: 1,
  shown: 12,
  lastReadAt: at + 12_000,
  servedAt: at,
}

test('migrate --restored shows the counts, and that nothing is sent twice', () => {
  expect(notedText(note))
    .toBe(`Noted at 2026-01-31T12:00:00Z: this database is a restored copy of 2026-01-31T11:00:00Z.
The next server looks on GitHub before it sends anything, so that nothing is sent twice:
  1 open delivery is looked for, and sent only if not found.
  12 that were shown are read once more, one a second, and corrected if GitHub shows something else.
If it was not restored, that costs these looks and changes nothing.
`)
})

test('migrate --restored says when there is nothing to look for', () => {
  expect(notedText({ ...note, open: 0, shown: 0 })).toMatch(/^Noted .*\n.*nothing to look for\.\n$/)
})

test('a start says in one line what it does about a restore, and until when', () => {
  expect(restoredLine(note, at)).toBe(
    'restored copy of 2026-01-31T11:00:00Z, noted at 2026-01-31T12:00:00Z; looks on GitHub for ' +
      '1 open delivery before sending and reads 12 shown ones again, until about ' +
      '2026-01-31T12:00:12Z',
  )
  expect(restoredLine({ ...note, open: 0, shown: 0 }, at)).toContain('so nothing is looked for')
})

test('the first start long after a restore says it too, but a later one does not', () => {
  const later = at + 3_600_000
  expect(restoredLine({ ...note, servedAt: later }, later)).toMatch(/again, now$/)
  expect(restoredLine(note, later)).toBeNull()
  expect(restoredLine(null, later)).toBeNull()
})
