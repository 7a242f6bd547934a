/**
 * Cuts a text without leaving half a character: many characters, such as emoji, are two units of a
 * JavaScript string. PostgreSQL refuses a row with half of one.
 */
export function cutText(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text.toWellFormed()
  const isSplit = (text.codePointAt(unitsMax - 1) ?? 0) > 0xffff
  return text.slice(0, isSplit ? unitsMax - 1 : unitsMax).toWellFormed()
}
