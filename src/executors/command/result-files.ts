/**
 * Reads what a command left as its summary and its result.
 *
 * What must hold: a command cannot make Holdfast read another file, wait, or take in more than
 * 256 KB. So links are not followed, and only regular files are read. Secrets are hidden.
 */
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { summaryBytesMax } from '../../domain/completion.ts'
import { maskFor, maskJson } from '../../texts/mask-values.ts'
import type { RunFilePaths } from './run-files.ts'

/** Of each file. */
const bytesMax = summaryBytesMax

export interface CommandResults {
  /** Null if the command wrote none. */
  readonly summary: string | null
  readonly result: unknown
  /** Which file cannot be used, and why. */
  readonly problem: string | null
}

export async function readResultFiles(
  files: Pick<RunFilePaths, 'summary' | 'result'>,
  secrets: readonly string[],
): Promise<CommandResults> {
  const mask = maskFor(secrets)
  const summary = await readText('The summary file', files.summary)
  const written = await readText('The result file', files.result)
  const result = written.text === null ? noResult : parseResult(written.text, mask)
  const problems = [summary.problem, written.problem, result.problem]
  return {
    summary: summary.text === null ? null : mask(summary.text),
    result: result.value,
    problem: problems.filter((problem) => problem !== null).join(' ') || null,
  }
}

interface TextFile {
  readonly text: string | null
  readonly problem: string | null
}

async function readText(name: string, path: string): Promise<TextFile> {
  const problem = (what: string): TextFile => ({ text: null, problem: `${name} ${what}` })
  let file: FileHandle
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    return code === 'ENOENT' ? { text: null, problem: null } : problem(openFailure(code))
  }
  try {
    if (!(await file.stat()).isFile()) return problem(notRegular)
    const bytes = await readBytes(file)
    if (bytes.length > bytesMax) return problem('is larger than 256 KB. Write less to it.')
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.includes('\0')) return problem('contains a NUL character. Write plain text to it.')
    return { text: text.trim() === '' ? null : text, problem: null }
  } catch (error) {
    return problem(
      error instanceof TypeError
        ? 'is not valid UTF-8. Write it in UTF-8.'
        : `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`,
    )
  } finally {
    await file.close()
  }
}

const notRegular = 'is not a regular file. Write the text itself to it.'

function openFailure(code: string): string {
  // The codes of a link, on other systems too, and of a socket.
  if (['ELOOP', 'EMLINK', 'EFTYPE'].includes(code)) {
    return 'is a symbolic link. Write the text itself to it.'
  }
  return code === 'ENXIO' ? notRegular : `cannot be read (${code}).`
}

/** At most one byte more than allowed, however the file grows meanwhile. */
async function readBytes(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytesMax + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

interface ParsedResult {
  readonly value: unknown
  readonly problem: string | null
}

const noResult: ParsedResult = { value: null, problem: null }

function parseResult(text: string, mask: (text: string) => string): ParsedResult {
  try {
    const parsed = JSON.parse(text, (_name, part: unknown, context?: NumberSource) =>
      typeof part === 'number' ? maskNumber(part, context?.source, mask) : part,
    ) as unknown
    return { value: maskStored(parsed, mask), problem: null }
  } catch (error) {
    // Not the error's text, which quotes the file.
    const problem =
      error instanceof RangeError
        ? 'The result file is nested too deeply, or has a number too large for JSON.'
        : 'The result file is not valid JSON. Write one JSON value to it.'
    return { value: null, problem }
  }
}

/** What Node gives a reviver: the text of a number as it was written. */
interface NumberSource {
  readonly source?: string
}

/** A secret of many digits is read as another number, which still shows most of them. */
function maskNumber(
  value: number,
  source: string | undefined,
  mask: (text: string) => string,
): unknown {
  const text = source ?? String(value)
  const shown = mask(text)
  if (shown !== text) return shown
  // `1e999` is read as Infinity and would be stored as null.
  if (!Number.isFinite(value)) throw new RangeError()
  return value
}

/** By way of JSON, which fails for what could not be stored anyway. */
function maskStored(value: unknown, mask: (text: string) => string): unknown {
  return JSON.parse(JSON.stringify(maskJson(value, mask))) as unknown
}
