/** What a run can publish of its own, by channel, as a TypeScript program writes it. */
import type { z } from 'zod'
import type { ChannelName, publishForms } from './github-channels.ts'

/** The fields of the HTTP API, in camelCase. */
export type Output = {
  readonly [C in ChannelName]: { readonly channel: C } & CamelCase<
    z.input<(typeof publishForms)[C]['form']>
  >
}[ChannelName]

export interface Published {
  readonly deliveryId: string
  /** True if it was already published under this name. Then nothing was done. */
  readonly already: boolean
}

type CamelName<K> = K extends `${infer First}_${infer More}`
  ? `${First}${Capitalize<CamelName<More>>}`
  : K

type CamelCase<T> = T extends readonly (infer Item)[]
  ? readonly CamelCase<Item>[]
  : T extends object
    ? { readonly [K in keyof T as CamelName<K>]: CamelCase<T[K]> }
    : T
