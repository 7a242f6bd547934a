/**
 * What runs of a type may publish besides their own comment, status and check run.
 *
 * What must hold: nothing that a run publishes can look like the result of a run type, its own type
 * included. It may use neither that type's context nor a text that only looks like it. What a type
 * is not explicitly allowed is forbidden, except comments and reviews that neither approve nor
 * block.
 */
import type { Announcement } from '../run.ts'
import type { ChannelDeclaration, Content, NeededRight } from './channel-declaration.ts'
import { shapeOf } from './lookalikes.ts'

export interface PublishRights {
  readonly channels: readonly string[]
  /**
   * Contexts of statuses and names of check runs. A pattern that ends in `*` allows every name with
   * that start.
   */
  readonly contexts: readonly string[]
  /** The same for labels. */
  readonly labels: readonly string[]
  /** Whether reviews may approve or request changes: both decide about a merge. */
  readonly approve: boolean
  /** Contexts that show the result of a run type. */
  readonly reserved: readonly string[]
}

export function defaultRightsOn(channels: readonly ChannelDeclaration[]): PublishRights {
  const allowed = channels.filter(({ isAllowedByDefault }) => isAllowedByDefault)
  return {
    channels: allowed.map(({ name }) => name),
    contexts: [],
    labels: [],
    approve: false,
    reserved: [],
  }
}

/** For a caller whose own program decides what it publishes: everything except reserved names. */
export function allRightsOn(channels: readonly ChannelDeclaration[]): PublishRights {
  return {
    channels: channels.map(({ name }) => name),
    contexts: ['*'],
    labels: ['*'],
    approve: true,
    reserved: [],
  }
}

/** Types without a configuration show their result under names of this form. */
const ownPrefix = 'holdfast/'

const invisible = /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Cc}\p{Cf}]/gu

const visible = (context: string): string => context.normalize('NFKC').replace(invisible, '')

/** Equal for two contexts that people and GitHub cannot tell apart. */
export function contextKey(context: string): string {
  // Upper case first: some letters have two lower cases, such as the final sigma.
  return visible(context).toUpperCase().toLowerCase().normalize('NFKC')
}

/** Whether this context belongs to a run type, configured or not, or looks like one that does. */
export function isReserved(context: string, reserved: readonly string[]): boolean {
  // The key is compared as well, because a letter may look like ASCII in only one case.
  return [contextKey, shapeKey].some((keyOf) => {
    const key = keyOf(context)
    return key.startsWith(keyOf(ownPrefix)) || reserved.some((other) => keyOf(other) === key)
  })
}

const shapeKey = (context: string): string => shapeOf(visible(context))

export interface PublishRefusal {
  readonly code: 'context_reserved' | 'publish_not_allowed'
  readonly message: string
  readonly hint: string
}

export interface Publication {
  readonly channel: ChannelDeclaration
  readonly content: Content
}

export type Publishing = Pick<Announcement, 'statusContext' | 'checkName'> & {
  readonly type: string
}

/** Null when a run of this type may publish it. */
export function publishRefusal(
  { channel, content }: Publication,
  run: Publishing,
  rights: PublishRights,
): PublishRefusal | null {
  const needed = channel.rightFor?.(content) ?? null
  const refusal = needed === null ? null : refusalOf(needed, run, rights)
  if (refusal !== null) return refusal
  if (rights.channels.includes(channel.name)) return null
  return notAllowed(run, `on ${channel.name}`, `channels: ['${channel.name}']`)
}

function refusalOf(
  { kind, value }: NeededRight,
  run: Publishing,
  rights: PublishRights,
): PublishRefusal | null {
  switch (kind) {
    case 'context': {
      const own = [run.statusContext, run.checkName].filter((name) => name !== null)
      if (isReserved(value, [...own, ...rights.reserved])) return reservedContext(value)
      if (isListed(value, rights.contexts)) return null
      return notAllowed(run, `under ${quoted(value)}`, `contexts: [${quoted(value)}]`)
    }
    case 'label':
      if (isListed(value, rights.labels)) return null
      return notAllowed(run, `the label ${quoted(value)}`, `labels: [${quoted(value)}]`)
    case 'decision':
      if (rights.approve) return null
      return notAllowed(run, `a review that says ${value}`, 'approve: true')
  }
}

/** For GitHub, contexts and labels that differ only in case are the same. */
function isListed(text: string, patterns: readonly string[]): boolean {
  const given = text.toLowerCase()
  return patterns.some((pattern) => {
    const wanted = pattern.toLowerCase()
    return wanted.endsWith('*') ? given.startsWith(wanted.slice(0, -1)) : given === wanted
  })
}

function reservedContext(context: string): PublishRefusal {
  return {
    code: 'context_reserved',
    message: `${quoted(context)} shows the result of a run type, which only its own runs set`,
    hint: 'Use another name. A run changes its own status and check by being completed.',
  }
}

function notAllowed({ type }: Publishing, what: string, line: string): PublishRefusal {
  return {
    code: 'publish_not_allowed',
    message: `runs of the type ${type} may not publish ${what}`,
    hint: `Allow it in holdfast.config.ts: runs: { ${quoted(type)}: { publish: { ${line} } } }`,
  }
}

const quoted = (text: string): string => JSON.stringify(text)
