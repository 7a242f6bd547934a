/**
 * What `why` can be asked about, by the form of the question alone. A pull request is named as
 * people write it: `owner/repo#5`, `owner/repo/pull/5`, or the address a browser shows.
 */
import { InvalidInputError } from '../../errors.ts'

export type Question =
  | { readonly of: 'thread'; readonly repo: string; readonly number: number }
  | { readonly of: 'run'; readonly id: string }
  /** Our id or GitHub's GUID. `sure`: its form is that of a GUID or of our id. */
  | { readonly of: 'webhook'; readonly id: string; readonly sure: boolean }
  | { readonly of: 'delivery'; readonly id: string }

export const questionForms =
  'must be owner/repo#5, the address of a pull request, a run id (run_…), ' +
  'a delivery id (del_…), an inbox id (inb_…) or the GUID of a webhook'

const address = /^(?:https?:\/\/)?[^/\s]+\.[^/\s]+\/(?=[^/]+\/[^/]+\/(?:pull|issues)\/)/i
const thread = new RegExp(
  /^([a-z0-9_-]{1,100}\/(?!\.{1,2}[#/])[a-z0-9._-]{1,100})/.source +
    /(?:#|\/(?:pull|pulls|issues)\/)([1-9]\d{0,14})(?:[/?#].*)?$/.source,
)
const ownId = /^(run|inb|del)_[a-z0-9]{1,60}$/
const guid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Any text that a sender may use as the GUID of a webhook. */
const looseGuid = /^[\x21-\x7e]{1,200}$/

/** Returns null if it has none of the forms. */
export function readQuestion(query: string): Question | null {
  const asked = query.trim()
  const [, kind] = ownId.exec(asked) ?? []
  if (kind === 'run') return { of: 'run', id: asked }
  if (kind === 'inb') return { of: 'webhook', id: asked, sure: true }
  if (kind !== undefined) return { of: 'delivery', id: asked }
  const [, repo, number] = thread.exec(asked.replace(address, '').toLowerCase()) ?? []
  if (repo !== undefined && number !== undefined) {
    return { of: 'thread', repo, number: Number(number) }
  }
  if (guid.test(asked)) return { of: 'webhook', id: asked, sure: true }
  return looseGuid.test(asked) ? { of: 'webhook', id: asked, sure: false } : null
}

export function notAQuestion(): InvalidInputError {
  return new InvalidInputError('invalid_value', 'q', `the question ${questionForms}`, {
    hint: 'For example: holdfast why acme/widgets#5',
  })
}
