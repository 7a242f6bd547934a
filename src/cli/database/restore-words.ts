/**
 * What follows from a restore, in words: for the person who runs `migrate --restored`, and for the
 * person who starts a server on the copy. Both texts name the same two times: when the copy was
 * made, and when the restore was noted.
 */
import type { RestoreNote } from '../../store/outbox-store.ts'

/** When the last read is longer ago than this, a start no longer mentions the restore. */
const readsTakeMs = 60_000

/** After `migrate --restored`. A person may run that although the database was never restored. */
export function notedText(note: RestoreNote): string {
  const copy = `this database is a restored copy of ${time(note.copiedAt)}`
  const noted = `Noted at ${time(note.restoredAt)}: ${copy}.`
  if (note.open + note.shown === 0) {
    return `${noted}\nNo delivery is open or was shown lately, so there is nothing to look for.\n`
  }
  return [
    noted,
    'The next server looks on GitHub before it sends anything, so that nothing is sent twice:',
    `  ${countOf(note.open, 'open delivery is', 'open deliveries are')} looked for, ` +
      'and sent only if not found.',
    `  ${countOf(note.shown, 'that was shown is', 'that were shown are')} read once more, ` +
      'one a second, and corrected if GitHub shows something else.',
    'If it was not restored, that costs these looks and changes nothing.\n',
  ].join('\n')
}

/** For the start of a server; null if there was no restore, or it needs no mention any more. */
export function restoredLine(note: RestoreNote | null, now: number): string | null {
  if (note === null) return null
  const { restoredAt, copiedAt, open, shown, lastReadAt, servedAt } = note
  if (now > Math.max(lastReadAt, servedAt ?? now) + readsTakeMs) return null
  const copy = `restored copy of ${time(copiedAt)}, noted at ${time(restoredAt)}`
  if (open + shown === 0)
    return `${copy}; nothing was open or shown lately, so nothing is looked for`
  const until = lastReadAt > now ? `until about ${time(lastReadAt)}` : 'now'
  return (
    `${copy}; looks on GitHub for ${countOf(open, 'open delivery', 'open deliveries')} before ` +
    `sending and reads ${countOf(shown, 'shown one', 'shown ones')} again, ${until}`
  )
}

/** Before a start. `files`: the files of the data folder that the start would create. */
export function missingFilesText(files: readonly string[], dataDir: string): string {
  if (files.length === 0) return ''
  const [are, them, ones] = files.length === 1 ? ['is', 'it', 'one'] : ['are', 'them', 'ones']
  return (
    `${files.join(' and ')} ${are} missing in ${dataDir}: ${notCopied}.\n` +
    `Copy ${them} from the old data folder before the start. Otherwise the start makes new ` +
    `${ones}, and whoever uses the old ${ones} is refused.\n`
  )
}

/** After a start that created these files; null if it created none. */
export function newFilesWarning(files: readonly string[], dataDir: string): string | null {
  if (files.length === 0) return null
  const [were, them, ones] = files.length === 1 ? ['was', 'it', 'one'] : ['were', 'them', 'ones']
  return (
    `${files.join(' and ')} ${were} not in ${dataDir}, and new ${ones} ${were} made: ` +
    `${notCopied}. Whoever uses the old ${ones} is refused. To use ${them} again, stop, copy ` +
    `${them} from the old data folder over the new ${ones}, and start.`
  )
}

const notCopied = 'a copy of the database does not contain the files beside it'

const countOf = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
